import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Checking, reconnecting and resubscribing at once", .limited)
struct ProbingTests {
    // MARK: Checking the connection

    @Test("checkConnection() pings at once, and only a pong ends the check")
    func checked() {
        var client = CoreClient.connected()
        #expect(client.checkConnection() == ["stop activity", "set pong 5s", "send 1 ping"])
        #expect(client.frameReceived() == [])
        #expect(client.received(.message(nil)).timers == [])
        #expect(client.received(.ping).timers == [])
        #expect(client.malformed().timers == [])
        #expect(client.received(.pong) == ["stop pong", "set activity 120s"])
    }

    @Test("The pongs of earlier pings do not end a check", arguments: [Duration.seconds(10), .seconds(3_600)])
    func earlierPong(time: Duration) {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        client.suspend(for: time)
        client.checkConnection()
        #expect(client.received(.pong).timers == [])
        #expect(client.advance(by: .seconds(5)).wire == ["abort 1"])
    }

    @Test("A check after an unanswered ping ends with the second pong")
    func bothPongs() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        client.checkConnection()
        client.received(.pong)
        #expect(client.received(.pong) == ["stop pong", "set activity 120s"])
    }

    @Test("A ping that the server never answered does not spoil later checks")
    func unansweredPing() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        // The server answers only this ping, and an event ends the wait for the pong of the first one.
        client.frameReceived()
        client.advance(by: .seconds(120))
        client.received(.pong)
        client.advance(by: .seconds(60))
        client.checkConnection()
        #expect(client.received(.pong) == ["stop pong", "set activity 120s"])
    }

    @Test("An error about the rate limit ends a check, because the server has received the ping")
    func rejected() {
        var client = CoreClient.connected()
        client.checkConnection()
        #expect(client.received(.error(4301, "Rate limit exceeded")) == ["stop pong", "set activity 120s"])
    }

    @Test("The client reconnects if its check gets no answer in time")
    func dead() {
        var client = CoreClient.connected()
        client.checkConnection()
        #expect(client.advance(by: .milliseconds(4_999)) == [])
        let transcript = client.advance(by: .milliseconds(1))
        #expect(transcript.wire == ["abort 1"])
        #expect(transcript.told == ["report pongTimedOut"])
        #expect(client.state == .reconnecting)
    }

    @Test("A check does not extend the wait for a pong, or exceed the pong timeout")
    func pinged() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        #expect(client.checkConnection() == ["stop pong", "set pong 5s", "send 1 ping"])
        #expect(client.checkConnection(.seconds(100)).timers == ["stop pong", "set pong 5s"])
    }

    @Test("Repeated checks do not postpone the discovery of a dead connection")
    func repeated() {
        var client = CoreClient.connected()
        #expect(client.checkConnection().timers == ["stop activity", "set pong 5s"])
        client.advance(by: .seconds(3))
        #expect(client.checkConnection() == ["stop pong", "set pong 2s", "send 1 ping"])
        #expect(client.checkConnection(.seconds(1)) == ["stop pong", "set pong 1s", "send 1 ping"])
        let transcript = client.advance(by: .seconds(1))
        #expect(transcript.wire == ["abort 1"])
        #expect(transcript.told == ["report pongTimedOut"])
    }

    @Test("Checks that come faster than the pongs do not drop a slow connection", arguments: [true, false])
    func frequent(wasSuspended: Bool) {
        var client = CoreClient.connected()
        if wasSuspended { client.suspend(for: .seconds(3_600)) }
        for second in 0..<20 {
            client.checkConnection()
            client.advance(by: .milliseconds(500))
            // The pong of a check comes after 1.5 s.
            if second > 0 { client.received(.pong) }
            client.advance(by: .milliseconds(500))
        }
        #expect(client.state == .connected)
        #expect(client.machine.connection.statistics.attempts == 1)
    }

    @Test("checkConnection() ends a wait before an attempt, and does not affect a running attempt")
    func waiting() {
        var client = CoreClient.connected()
        client.closed()
        client.decide(.seconds(60))
        #expect(client.checkConnection().wire == ["open 2"])
        #expect(client.checkConnection() == [])
    }

    @Test("checkConnection() starts no attempt if the app wants no connection")
    func unwanted() {
        var client = CoreClient()
        #expect(client.checkConnection() == [])
        client.connect()
        client.disconnect()
        #expect(client.checkConnection() == [])
        var refused = CoreClient.connected()
        refused.closed(code: CloseCode(rawValue: 4001))
        #expect(refused.checkConnection() == [])
    }

    @Test("checkConnection() pings again if a suspension interrupted the wait for a pong")
    func suspended() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        client.suspend(for: .seconds(3_600))
        #expect(client.checkConnection().wire == ["send 1 ping"])
        #expect(client.advance(by: .seconds(5)).wire == ["abort 1"])
    }

    @Test(
        "Repeated checks after a suspension do not postpone the discovery of a dead connection",
        arguments: [true, false]
    )
    func suspendedRepeated(isAskedFirst: Bool) {
        var client = CoreClient.connected()
        client.suspend(for: .seconds(3_600))
        if isAskedFirst { client.checkConnection() } else { client.subscribe("a") }
        client.advance(by: .seconds(3))
        client.checkConnection()
        client.advance(by: .seconds(1))
        // The wait for the pong starts at the first of these checks.
        let rest = isAskedFirst ? 1 : 4
        #expect(client.checkConnection().timers == ["stop pong", "set pong \(rest)s"])
        #expect(client.advance(by: .seconds(rest)).wire == ["abort 1"])
    }

    // MARK: Reconnecting at once

    @Test("reconnectNow() replaces the connection, and the client subscribes its channels again")
    func reconnect() {
        var client = CoreClient.subscribed("private-a")
        let transcript = client.reconnectNow()
        #expect(transcript.wire == ["abort 1", "open 2"])
        #expect(
            transcript.changes == [
                "connected → reconnecting", "reconnecting → connecting", "status connecting",
            ]
        )
        #expect(client.closed(1) == [])
        #expect(client.received(.message("private-a"), on: 1) == [])
        client.advance(by: .seconds(1))
        client.establish()
        #expect(client.authorized("private-a").wire.words == ["send 2 subscribe private-a"])
        #expect(client.received(.success("private-a")).told.words == ["subscribed private-a away 1s"])
    }

    @Test("reconnectNow() replaces a running attempt, and connects during a wait")
    func attempts() {
        var client = CoreClient()
        client.connect()
        #expect(client.reconnectNow().wire == ["abort 1", "open 2"])
        client.closed()
        client.decide(.seconds(60))
        #expect(client.reconnectNow().wire == ["open 3"])
        #expect(client.state == .connecting)
    }

    @Test(
        "reconnectNow() connects before connect(), after disconnect() and after a refusal, but not after the release"
    )
    func fromNothing() {
        var client = CoreClient()
        #expect(client.reconnectNow().wire == ["open 1"])
        client.disconnect()
        #expect(client.reconnectNow().wire == ["open 2"])
        client.closed(code: CloseCode(rawValue: 4001))
        #expect(client.state == .disconnected)
        #expect(client.reconnectNow().wire == ["open 3"])
        client.release()
        #expect(client.reconnectNow() == [])
    }

    // MARK: Subscribing again

    @Test("resubscribe() unsubscribes, and subscribes again with a new authorization")
    func resubscribe() {
        var client = CoreClient.subscribed("private-a")
        let transcript = client.resubscribe("private-a")
        #expect(transcript.wire == ["send 1 unsubscribe private-a"])
        #expect(transcript.authorizations == ["authorize private-a for 1.1"])
        #expect(client.resubscribe("private-a") == [])
        #expect(client.authorized("private-a").wire.words == ["send 1 subscribe private-a"])
        #expect(client.resubscribe("private-a") == [])
        #expect(client.received(.success("private-a")).told.words == ["subscribed private-a away 0s"])
    }

    @Test("resubscribe() subscribes a failed channel again, and has no effect without a connection")
    func failed() {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        client.authorized("private-a", .failure(AuthorizationError(.refused, "no")))
        #expect(client.resubscribe("private-a").authorizations == ["authorize private-a for 1.1"])
        client.closed()
        #expect(client.resubscribe("private-a") == [])
    }

    @Test("resubscribe() on a retired channel object has no effect")
    func gone() {
        var client = CoreClient.subscribed("private-a")
        let id = client.id(ofChannel: "private-a")
        client.unsubscribe("private-a")
        #expect(client.resubscribe("private-a", id) == [])
        client.subscribe("private-a")
        #expect(client.resubscribe("private-a", id) == [])
    }

    @Test("The client sends waiting client events after resubscribe(), but an awaited event fails")
    func clientEvents() {
        var client = CoreClient.subscribed("private-a") { $0.clientEventsPerSecond = 1 }
        client.trigger("client-1", on: "private-a")
        client.trigger("client-2", on: "private-a")
        client.send("client-3", on: "private-a")
        #expect(client.resubscribe("private-a").outcomes == ["resume 1 failed notSubscribed"])
        #expect(client.advance(by: .seconds(2)).wire == [])
        client.authorized("private-a")
        let sent = client.received(.success("private-a")).wire + client.advance(by: .seconds(2)).wire
        #expect(sent == ["send 1 client-2 on private-a"])
    }
}
