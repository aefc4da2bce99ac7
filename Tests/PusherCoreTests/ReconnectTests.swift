import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Losing the connection, and reconnecting", .limited)
struct ReconnectTests {
    @Test("The client announces an outage once, however many attempts fail")
    func announcedOnce() {
        var client = CoreClient.connected()
        #expect(
            client.closed(code: 1006).changes == [
                "connected → disconnected", "disconnected → reconnecting", "ask retry 0",
            ]
        )
        #expect(client.decide(.seconds(3)).changes == ["status waiting 3s attempt 1 connectionClosed 1006"])
        #expect(client.advance(by: .milliseconds(2_999)) == [])
        #expect(client.advance(by: .milliseconds(1)).changes == ["reconnecting → connecting", "status connecting"])
        #expect(client.closed(code: 1006).changes == ["connecting → reconnecting", "ask retry 1"])
        client.decide(.zero)
        client.advance(by: .zero)
        #expect(client.establish().changes == ["connecting → connected", "status connected 3.1"])
    }

    @Test("The client publishes every status of a loss, even if it does not wait")
    func zeroDelay() {
        var client = CoreClient()
        client.connect()
        client.closed()
        #expect(client.decide(.zero).changes == ["status waiting 0s attempt 1 connectionClosed"])
        #expect(client.advance(by: .zero).changes == ["reconnecting → connecting", "status connecting"])
    }

    @Test("A call to connect() while the policy decides does not publish a status twice")
    func connectWhileAsking() {
        var client = CoreClient()
        client.connect()
        client.closed()
        #expect(client.connect().changes == ["reconnecting → connecting"])
        #expect(client.decide(.seconds(1)) == [])
    }

    @Test(
        "The client limits the policy's wait by the protocol and the app's options",
        arguments: [
            (.seconds(7), 1006, .seconds(120), "7s"),
            (.seconds(-7), 1006, .seconds(120), "0s"),
            (.seconds(500), 1006, .seconds(120), "120s"),
            (.seconds(500), 1006, nil, "500s"),
            (.seconds(Int64.max), 1006, nil, "31536000s"),
            (.seconds(Int64.min), 1006, nil, "0s"),
            (.seconds(5), 1006, .seconds(-1), "0s"),
            // The wait after 41xx is at least a second.
            (.zero, 4100, .seconds(120), "1s"), (.seconds(-7), 4199, .seconds(120), "1s"),
            (.seconds(5), 4100, .seconds(120), "5s"), (.seconds(5), 4150, .milliseconds(100), "1s"),
        ] as [(Duration, CloseCode, Duration?, String)]
    )
    func delays(decision: Duration, code: CloseCode, longest: Duration?, wait: String) {
        var client = CoreClient.connected { $0.maximumRetryDelay = longest }
        client.closed(code: code)
        #expect(client.decide(decision).timers == ["set retry \(wait)"])
    }

    @Test("The policy gets the number of retries, and the minimum wait that the protocol requires")
    func context() throws {
        var client = CoreClient.connected()
        #expect(client.closed(code: 4100).changes.last == "ask retry 0 at least 1s")
        #expect(client.ledger.lastQuestion?.elapsed == .zero && client.ledger.lastQuestion?.closeCode == 4100)
        for count in 1...3 {
            client.decide(.zero)
            client.advance(by: .seconds(1))
            let asked = client.closed(error: .init(.connectionFailed, "no")).changes.last
            #expect(asked == "ask retry \(count)")
            let question = try #require(client.ledger.lastQuestion)
            #expect(question.elapsed == .seconds(count) && question.reason.code == .connectionFailed)
        }
    }

    @Test("The policy can stop the client")
    func givingUp() {
        var client = CoreClient.connected()
        client.closed()
        let transcript = client.decide(nil)
        #expect(transcript.told == ["report retriesExhausted"])
        #expect(transcript.changes == ["reconnecting → disconnected", "status disconnected retriesExhausted"])
        #expect(client.advance(by: .seconds(3_600)) == [])
        #expect(client.connect().wire == ["open 2"])
    }

    @Test("Successful attempts do not count toward reconnectAttemptsMax, even if the connections are short")
    func attemptsThatSucceed() {
        var client = CoreClient.connected { $0.maximumRetries = 2 }
        for number in 1...10 {
            client.advance(by: .seconds(1))
            // The waits keep growing, because the connection has not held for ten seconds.
            #expect(client.closed().changes.last == "ask retry \(number - 1)")
            client.decide(.zero)
            client.advance(by: .zero)
            client.establish()
            #expect(client.machine.connection.reconnectAttempts == 0)
        }
    }

    @Test("The option reconnectAttemptsMax limits the attempts after a loss", arguments: [0, 1, 3])
    func maximumRetries(limit: Int) {
        var client = CoreClient.connected { $0.maximumRetries = limit }
        var attempts = 0
        while client.closed().changes.last?.hasPrefix("ask") == true {
            client.decide(.zero)
            client.advance(by: .zero)
            attempts += 1
        }
        #expect(attempts == limit)
        #expect(client.state == .disconnected)
        // A `connect()` of the app starts a new count.
        client.connect()
        #expect(client.closed().changes.last?.hasPrefix("ask") == (limit > 0))
    }

    @Test("An attempt that connect() starts during a wait counts toward reconnectAttemptsMax")
    func connectCountsAsAttempt() {
        var client = CoreClient.connected { $0.maximumRetries = 2 }
        #expect(client.closed().changes.last == "ask retry 0")
        client.decide(.seconds(60))
        #expect(client.connect().wire == ["open 2"])
        #expect(client.closed().changes.last == "ask retry 1")
        #expect(client.connect().wire == ["open 3"])
        #expect(client.closed().changes.last == "status disconnected retriesExhausted")
    }

    @Test(
        "The policy's count of retries starts again only after a connection that held for ten seconds",
        arguments: [(9_999, 2), (10_000, 0), (60_000, 0)]
    )
    func resetAfterHolding(milliseconds: Int, count: Int) {
        var client = CoreClient()
        client.connect()
        for _ in 0..<2 {
            client.closed()
            client.decide(.zero)
            client.advance(by: .zero)
        }
        client.establish()
        client.advance(by: .milliseconds(milliseconds))
        #expect(client.closed().changes.last == "ask retry \(count)")
    }

    @Test(
        "The client reconnects at once after 42xx only if the connection held for a second",
        arguments: [4200, 4201, 4250, 4299]
    )
    func reconnectImmediately(code: Int) {
        var client = CoreClient.connected()
        client.advance(by: .seconds(1))
        let transcript = client.closed(code: CloseCode(rawValue: code))
        #expect(transcript.wire == ["open 2"])
        #expect(
            transcript.changes == [
                "connected → disconnected", "disconnected → reconnecting",
                "status waiting 0s attempt 1 connectionClosed \(code)", "reconnecting → connecting",
                "status connecting",
            ]
        )
        client.establish()
        client.advance(by: .milliseconds(999))
        #expect(client.closed(code: CloseCode(rawValue: code)).changes.last == "ask retry 1")
        client.decide(.zero)
        client.advance(by: .zero)
        #expect(client.closed(code: CloseCode(rawValue: code)).changes.last == "ask retry 2")
    }

    @Test(
        "The client uses TLS after 4000, on the given port, or 443 instead of 80",
        arguments: [(80, 443), (8_080, 8_080), (443, 443)]
    )
    func switchToTLS(port: Int, tlsPort: Int) {
        let request = TransportRequest(host: "server.example", port: port, useTLS: false, path: "/app/key")
        var client = CoreClient { $0.endpoint = .success(request) }
        client.connect()
        client.opened()
        #expect(client.closed(code: 4000).wire == ["open 2 wss:\(tlsPort)"])
        client.establish()
        client.disconnect()
        client.closed(code: 1000)
        #expect(client.connect().wire == ["open 3 wss:\(tlsPort)"])
    }

    @Test("The error of an attempt that timed out names the port that the client used")
    func timedOutAfterSwitchToTLS() throws {
        let request = TransportRequest(host: "server.example", port: 80, useTLS: false, path: "/app/key")
        var client = CoreClient { $0.endpoint = .success(request) }
        client.connect()
        client.opened()
        client.closed(code: 4000)
        let error = try #require(client.advance(by: .seconds(15)).reports.first)
        #expect(error.code == .connectionTimedOut)
        #expect(error.message.contains("'server.example', port 443,"))
    }

    @Test("Close code 4000 on a connection over TLS stops the client", arguments: [true, false])
    func switchToTLSTwice(usesTLS: Bool) {
        let request = TransportRequest(host: "h", port: 80, useTLS: usesTLS, path: "/app/key")
        var client = CoreClient { $0.endpoint = .success(request) }
        client.connect()
        if !usesTLS { client.closed(code: 4000) }
        #expect(
            client.closed(code: 4000).changes == ["connecting → disconnected", "status refused connectionRefused 4000"]
        )
    }

    @Test("No loss leads to an attempt if autoReconnect is false", arguments: [nil, 1006, 4000, 4100, 4200])
    func withoutReconnecting(code: Int?) {
        var client = CoreClient.connected { $0.autoReconnect = false }
        client.advance(by: .seconds(5))
        let transcript = client.closed(code: code.map { CloseCode(rawValue: $0) })
        #expect(transcript.wire == [])
        #expect(client.state == .disconnected)
        #expect(client.advance(by: .seconds(3_600)) == [])
    }

    @Test(
        "No failed attempt, broken socket or silent server leads to an attempt if autoReconnect is false",
        arguments: [.connecting, .opened, .connectedForAMinute, .pinged] as [ConnectionSituation]
    )
    func withoutReconnectingAfterFailure(situation: ConnectionSituation) {
        var client = situation.client { $0.autoReconnect = false }
        let isSilent = situation == .pinged
        let transcript = isSilent ? client.fire(.pong) : client.closed(error: .init(.connectionFailed, "no"))
        #expect(transcript.wire == (isSilent ? ["abort 1"] : []))
        #expect(client.state == .disconnected)
        #expect(client.advance(by: .seconds(3_600)) == [])
    }

    @Test("After ten seconds, the status during attempts is unavailable until the client is connected")
    func unavailable() {
        var client = CoreClient()
        client.connect()
        client.advance(by: .seconds(4))
        client.closed(error: .init(.connectionFailed, "no"))
        client.decide(.seconds(1))
        client.advance(by: .seconds(1))
        #expect(client.advance(by: .milliseconds(4_999)) == [])
        #expect(client.advance(by: .milliseconds(1)) == ["status unavailable connectionFailed"])
        #expect(client.state == .connecting)
        client.closed(error: .init(.tlsFailed, "no"))
        client.decide(.seconds(2))
        #expect(
            client.advance(by: .seconds(2)).changes == ["reconnecting → connecting", "status unavailable tlsFailed"]
        )
        #expect(client.establish().changes == ["connecting → connected", "status connected 3.1"])
    }

    @Test("The client does not report a close that a pusher:error has announced")
    func reportedOnce() {
        var client = CoreClient.connected()
        #expect(client.received(.error(4200)).told == ["report serverError 4200"])
        #expect(client.closed(code: 4200).told == [])
        client = .connected()
        client.received(.error(4200))
        #expect(client.closed(code: 4201).told == ["report connectionClosed 4201"])
    }

    @Test("A wait that is over by the clock ends at the next call, even if its timer stopped")
    func suspendedWhileWaiting() {
        var client = CoreClient.connected()
        client.closed()
        client.decide(.seconds(30))
        client.suspend(for: .seconds(29))
        #expect(client.subscribe("orders").wire == [])
        client.suspend(for: .seconds(1))
        #expect(client.unsubscribe("orders").wire == ["open 2"])
    }

    @Test("The Retry-After of a refused upgrade is the shortest wait")
    func retryAfter() {
        var client = CoreClient()
        client.connect()
        client.received(retryAfter: .seconds(7))
        client.received(retryAfter: .seconds(5))
        client.closed(error: PusherClientError(.upgradeFailed, "503"))
        #expect(client.ledger.lastQuestion?.minimumDelay == .seconds(7))
        client.decide(.zero)
        #expect(client.advance(by: .milliseconds(6_999)).wire == [])
        #expect(client.advance(by: .milliseconds(1)).wire == ["open 2"])
        client.received(retryAfter: .seconds(9), on: 1)
        client.closed()
        #expect(client.ledger.lastQuestion?.minimumDelay == .zero)
    }

    @Test("The Retry-After of a refused upgrade counts if the attempt times out before the refusal is complete")
    func retryAfterOfUnfinishedRefusal() {
        var client = CoreClient()
        client.connect()
        client.received(retryAfter: .seconds(7))
        #expect(client.advance(by: .seconds(15)).told == ["report connectionTimedOut"])
        #expect(client.ledger.lastQuestion?.minimumDelay == .seconds(7))
    }
}
