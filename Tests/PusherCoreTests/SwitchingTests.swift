import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Switching to another server", .limited)
struct SwitchingTests {
    @Test("switchTo() connects to the other server, with all channels")
    func connected() {
        var client = CoreClient.subscribed("private-a")
        let transcript = client.switchTo("second.example")
        #expect(transcript.wire == ["abort 1", "open 2 second.example"])
        client.establish()
        #expect(client.authorized("private-a").wire.words == ["send 2 subscribe private-a"])
        #expect(client.received(.success("private-a")).told.words == ["subscribed private-a away 0s"])
        client.closed()
        client.decide(.zero)
        #expect(client.advance(by: .zero).wire == ["open 3 second.example"])
    }

    @Test("switchTo() cancels a running attempt or a wait at once")
    func connecting() {
        var client = CoreClient()
        client.connect()
        #expect(client.switchTo("second.example").wire == ["abort 1", "open 2 second.example"])
        client.closed()
        #expect(client.switchTo("third.example").wire == ["open 3 third.example"])
        client.closed()
        client.decide(.seconds(60))
        #expect(client.switchTo("fourth.example").wire == ["open 4 fourth.example"])
        #expect(client.timer(.retry) == nil)
    }

    @Test("switchTo() resets the attempt counts and the outage in every state", arguments: 0..<5)
    func counts(state: Int) {
        var client = CoreClient { $0.maximumRetries = 1 }
        client.connect()
        switch state {
        case 0: break
        case 1: client.establish()
        case 2: client.closed()
        case 3:
            client.closed()
            client.decide(.seconds(60))
            client.advance(by: .seconds(30))
        default:
            client.closed()
            client.decide(nil)
        }
        client.advance(by: .seconds(1))
        client.switchTo("second.example")
        #expect(client.machine.connection.retryCount == 0)
        #expect(client.machine.connection.reconnectAttempts == 0)
        #expect(client.machine.status == .connecting)
        client.advance(by: .seconds(2))
        let question = client.closed().changes.words.last
        #expect(question == "ask retry 0")
        #expect(client.ledger.lastQuestion?.elapsed == .seconds(2))
    }

    @Test("switchTo() connects even if the old server refused the client, or the client had stopped")
    func ended() {
        var refused = CoreClient.connected()
        refused.closed(code: CloseCode(rawValue: 4001))
        #expect(refused.switchTo("second.example").wire == ["open 2 second.example"])
        var exhausted = CoreClient.connected()
        exhausted.closed()
        exhausted.decide(nil)
        #expect(exhausted.switchTo("second.example").wire == ["open 2 second.example"])
    }

    @Test("switchTo() does not connect a disconnected client, even after a refusal", arguments: [true, false])
    func disconnectedAfterTheEnd(isRefused: Bool) {
        var client = CoreClient.connected()
        client.closed(code: isRefused ? 4001 : nil)
        if !isRefused { client.decide(nil) }
        client.disconnect()
        #expect(client.switchTo("second.example") == [])
        #expect(client.connect().wire == ["open 2 second.example"])
    }

    @Test("The client sends waiting client events to the other server once, in order")
    func clientEvents() {
        var client = CoreClient.subscribed("private-a") { $0.clientEventsPerSecond = 1 }
        for number in 1...3 { client.trigger("client-\(number)", on: "private-a") }
        client.send("client-4", on: "private-a")
        #expect(client.switchTo("second.example").outcomes == ["resume 1 failed notSubscribed"])
        client.establish()
        client.authorized("private-a")
        let sent = client.received(.success("private-a")).wire + client.advance(by: .seconds(3)).wire
        #expect(sent.words == ["send 2 client-2 on private-a", "send 2 client-3 on private-a"])
    }

    @Test("The next connection goes to the other server if the app wants no connection now")
    func unwanted() {
        var client = CoreClient()
        #expect(client.switchTo("second.example") == [])
        #expect(client.connect().wire == ["open 1 second.example"])
        client.establish()
        client.disconnect()
        #expect(client.switchTo("third.example") == [])
        #expect(client.connect().wire == ["abort 1", "open 2 third.example"])
        client.disconnect()
        client.release()
        #expect(client.switchTo("fourth.example") == [])
    }

    @Test("The old server's demand for TLS does not apply to the other server")
    func tls() {
        var client = CoreClient()
        client.connect()
        #expect(client.closed(code: CloseCode(rawValue: 4000)).wire == ["open 2 wss:443"])
        #expect(client.switchTo("second.example").wire == ["abort 2", "open 3 second.example"])
    }

    @Test("A call that waits for the connection keeps waiting for the other server")
    func waiting() {
        var client = CoreClient()
        client.awaitConnection()
        #expect(client.switchTo("second.example").told == [])
        client.opened()
        #expect(client.greeted().outcomes.words.contains("resume 1 connected 2.1"))
    }

    @Test("The client signs in the user at the other server")
    func signedIn() {
        var client = CoreClient.connected()
        client.signIn()
        client.switchTo("second.example")
        client.opened()
        #expect(client.greeted().authorizations.words == ["authorize the user for 2.1"])
    }
}
