import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Calls of connect() right after failures", .limited)
struct HastyConnectTests {
    @Test("The fourth call in a row that comes right after a failure keeps the policy's wait, and warns once")
    func limit() {
        var client = CoreClient()
        client.connect()
        for number in 2...4 {
            client.closed()
            #expect(client.connect().wire.words == ["open \(number)"])
        }
        client.closed()
        #expect(client.connect().words == ["warn of hasty connects"])
        client.decide(.seconds(30))
        #expect(client.connect() == [])
        #expect(client.advance(by: .milliseconds(900)) == [])
        #expect(client.connect() == [])
        #expect(client.advance(by: .milliseconds(29_099)) == [])
        #expect(client.advance(by: .milliseconds(1)).wire == ["open 5"])
        client.closed()
        #expect(client.connect() == [])
        client.decide(.seconds(30))
        // A second after the failure, a call may come from a person.
        client.advance(by: .seconds(1))
        #expect(client.connect().wire == ["open 6"])
    }

    @Test("The limit also holds while the policy has decided, and for short connections")
    func shortConnections() {
        var client = CoreClient.connected()
        for number in 2...4 {
            client.advance(by: .milliseconds(999))
            client.closed(code: 1006)
            client.decide(.seconds(30))
            #expect(client.connect().wire.words == ["open \(number)"])
            client.establish()
        }
        client.closed(code: 1006)
        client.decide(.seconds(30))
        #expect(client.connect().words == ["warn of hasty connects"])
        #expect(client.advance(by: .seconds(30)).wire == ["open 5"])
    }

    @Test("A connection of a second ends the limit")
    func longConnection() {
        var client = CoreClient.connected()
        for number in 2...10 {
            client.advance(by: .seconds(1))
            client.closed(code: 1006)
            #expect(client.connect().wire.words == ["open \(number)"])
            client.establish()
        }
    }

    @Test("Another server ends the limit")
    func otherServer() {
        var client = CoreClient()
        client.connect()
        for _ in 1...4 {
            client.closed()
            client.connect()
        }
        #expect(client.switchTo("second.example").wire == ["open 5 second.example"])
        client.closed()
        #expect(client.connect().wire.words.first?.hasPrefix("open 6") == true)
    }

    @Test("disconnect() before the call does not end the limit")
    func disconnectBefore() {
        var client = CoreClient()
        client.connect()
        for number in 2...4 {
            client.closed()
            client.disconnect()
            #expect(client.connect().wire.words.last == "open \(number)")
        }
        client.closed()
        client.disconnect()
        #expect(client.connect().told == ["warn of hasty connects"])
        // The app may go on, and the wait begins anew.
        client.advance(by: .milliseconds(900))
        client.disconnect()
        #expect(client.connect().wire == [])
        #expect(client.advance(by: .milliseconds(999)).wire == [])
        #expect(client.advance(by: .milliseconds(1)).wire == ["open 5"])
        #expect(client.establish().changes.last == "status connected 5.1")
    }

    @Test("An attempt that disconnect() stops counts as a failure, so both calls in turn have the same limit")
    func stoppedAttempts() {
        var client = CoreClient()
        client.connect()
        for number in 2...4 {
            client.disconnect()
            #expect(client.connect().wire.words.last == "open \(number)")
        }
        client.disconnect()
        let transcript = client.connect()
        #expect(transcript.told == ["warn of hasty connects"])
        #expect(transcript.changes.last == "status waiting 1s attempt 1 disconnected")
        #expect(client.advance(by: .seconds(1)).wire == ["open 5"])
        client.disconnect()
        // A second later, the call may come from a person.
        client.advance(by: .seconds(1))
        #expect(client.connect().wire == ["open 6"])
    }

    @Test("A client that has stopped waits a second before the attempt")
    func stopped() {
        var client = CoreClient { $0.autoReconnect = false }
        client.connect()
        for number in 2...4 {
            client.closed()
            #expect(client.state == .disconnected)
            #expect(client.connect().wire.words == ["open \(number)"])
        }
        client.closed()
        let transcript = client.connect()
        #expect(transcript.told == ["warn of hasty connects"])
        #expect(transcript.changes == ["disconnected → connecting", "status waiting 1s attempt 1 connectionClosed"])
        #expect(client.connect() == [])
        #expect(client.advance(by: .milliseconds(999)).wire == [])
        #expect(client.advance(by: .milliseconds(1)).wire == ["open 5"])
        client.closed()
        #expect(client.state == .disconnected)
        #expect(client.connect().told == [])
        #expect(client.advance(by: .seconds(1)).wire == ["open 6"])
        client.establish()
        #expect(client.state == .connected)
    }

    @Test("A refused client waits too, and disconnect() ends the wait")
    func refused() {
        var client = CoreClient.connected()
        for _ in 1...4 {
            client.closed(code: 4001)
            client.connect()
            if client.state == .connecting { client.establish() }
        }
        #expect(client.state == .connecting && client.machine.connection.currentAttempt == nil)
        client.disconnect()
        #expect(client.state == .disconnected)
        #expect(client.advance(by: .seconds(10)) == [])
    }

    @Test("Calls of disconnect() and connect() have no limit while the server accepts each connection")
    func toggled() {
        var client = CoreClient.connected()
        for number in 2...10 {
            client.disconnect()
            #expect(client.connect().wire.words.last == "open \(number)")
            client.establish()
        }
    }
}
