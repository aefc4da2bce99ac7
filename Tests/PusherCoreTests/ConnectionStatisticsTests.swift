import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests of each count of attempts and connections. In every test of the core, the ledger also checks after each input
/// that the counts add up.
@Suite("Statistics of connections in the core", .limited)
struct ConnectionStatisticsTests {
    @Test("The counts of a new client are zero")
    func nothing() {
        #expect(CoreClient().statistics == PusherStatistics())
    }

    // MARK: Connections

    @Test("Each attempt counts as established, failed, abandoned or still under way")
    func attempts() {
        var client = CoreClient()
        client.connect()
        #expect(client.connections == "1 attempts")
        client.closed(error: .init(.connectionFailed, "no"))
        client.decide(.zero)
        client.advance(by: .zero)
        client.disconnect()
        #expect(client.connections == "2 attempts, failed network, 1 abandoned")
        client.connect()
        client.establish()
        #expect(client.connections == "3 attempts, 1 established, failed network, 1 abandoned")
        client.disconnect()
        client.closed(code: 1000)
        #expect(client.connections == "3 attempts, 1 established, failed network, 1 abandoned, 1 closed")
    }

    @Test(
        "The close code determines the reason of a lost connection",
        arguments: [
            (4001, "closed40xx"), (4099, "closed40xx"), (4100, "closed41xx"), (4199, "closed41xx"),
            (4200, "closed42xx"), (4299, "closed42xx"), (4300, "closed43xx"), (4999, "closed43xx"),
            (1000, "closed"), (1005, "closed"), (3999, "closed"), (nil, "network"),
        ] as [(Int?, String)]
    )
    func lossByCode(code: Int?, reason: String) {
        var client = CoreClient.connected()
        client.closed(code: code.map { CloseCode(rawValue: $0) })
        #expect(client.statistics.connections.lost == [.init(rawValue: reason): 1])
        #expect(client.statistics.connections.refused == (reason == "closed40xx" || reason == "closed43xx" ? 1 : 0))
    }

    @Test(
        "The transport's error determines the reason of a failed attempt",
        arguments: [
            (.nameResolutionFailed, "nameResolution"), (.connectionFailed, "network"), (.proxyFailed, "proxy"),
            (.tlsFailed, "tls"), (.pinMismatch, "tls"), (.upgradeFailed, "upgrade"),
            (.protocolViolation, "protocolViolation"), (.invalidText, "protocolViolation"),
            (.messageTooBig, "messageTooBig"), (.sendBufferFull, "sendBufferFull"), (.init(rawValue: "new"), "other"),
        ] as [(PusherClientError.Code, String)]
    )
    func failureByError(code: PusherClientError.Code, reason: String) {
        var client = CoreClient()
        client.connect()
        client.closed(error: .init(code, "no"))
        #expect(client.statistics.connections.failedAttempts == [.init(rawValue: reason): 1])
    }

    @Test("Timeouts, errors before the greeting and invalid greetings have separate reasons")
    func failuresInside() {
        var client = CoreClient()
        client.connect()
        client.fire(.attempt)
        client.connect()
        client.received(.error(nil))
        client.connect()
        client.received(.error(4100))
        client.connect()
        client.received(Envelope(event: EventName.connectionEstablished))
        #expect(
            client.statistics.connections.failedAttempts == [
                .connectionTimeout: 1, .serverError: 1, .closed41xx: 1, .protocolViolation: 1,
            ]
        )
        #expect(client.statistics.messages.malformed == 1)
    }

    @Test("A connection that the app replaces counts as replaced, not as recovered")
    func replaced() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(5))
        client.reconnectNow()
        client.advance(by: .seconds(2))
        client.establish()
        #expect(client.statistics.connections.lost == [.replaced: 1])
        #expect(client.statistics.connections.recovery.count == 0)
        #expect(client.machine.connection.lastOutage == .seconds(2))
        client.reconnectNow()
        client.reconnectNow()
        #expect(client.statistics.connections.abandonedAttempts == 1)
    }

    @Test("The statistics count how often the client was refused, and how often it stopped")
    func ends() {
        var client = CoreClient { $0.maximumRetries = 0 }
        client.connect()
        client.closed()
        #expect(client.statistics.connections.givenUp == 1)
        client.configure { $0.autoReconnect = false }
        client.connect()
        client.closed()
        #expect(client.statistics.connections.givenUp == 2)
        client.configure { $0.endpoint = .failure(.init(.invalidKey, "empty")) }
        client.connect()
        #expect(client.statistics.connections.refused == 1)
        #expect(client.statistics.connections.attempts == 2)
    }

    @Test("The time to recover is the time from the loss to the next connection, including all failed attempts")
    func recovery() {
        var client = CoreClient.connected()
        client.closed()
        client.decide(.seconds(3))
        client.advance(by: .seconds(3))
        client.closed()
        client.decide(.seconds(4))
        client.advance(by: .seconds(5))
        client.establish()
        let first = client.statistics.connections.recovery
        #expect(first.count == 1 && first.last == .seconds(8) && first.longest == .seconds(8))
        #expect(client.machine.connection.lastOutage == .seconds(8))
        client.closed()
        client.decide(.seconds(2))
        client.advance(by: .seconds(2))
        client.establish()
        let both = client.statistics.connections.recovery
        #expect(
            both.count == 2 && both.last == .seconds(2) && both.longest == .seconds(8) && both.total == .seconds(10)
        )
        #expect(both.mean == .seconds(5))
    }

    @Test("A new connection does not count as recovered after a disconnect or a refusal")
    func noRecovery() {
        var client = CoreClient.connected()
        client.closed()
        client.disconnect()
        client.advance(by: .seconds(3_600))
        client.connect()
        client.establish()
        client.closed(code: 4001)
        client.advance(by: .seconds(3_600))
        client.connect()
        client.establish()
        #expect(client.statistics.connections.recovery.count == 0)
    }

    @Test("The connected time includes all connections and the current one")
    func timeConnected() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(60))
        #expect(client.statistics.connections.timeConnected == .seconds(60))
        client.closed()
        client.decide(.seconds(3))
        client.advance(by: .seconds(3))
        client.establish()
        client.advance(by: .seconds(7))
        client.reconnectNow()
        client.establish()
        client.advance(by: .seconds(5))
        client.disconnect()
        client.advance(by: .seconds(1))
        #expect(client.statistics.connections.timeConnected == .seconds(72))
    }

    // MARK: Signs of life

    @Test("The statistics count pings and pongs, and measure their round-trip time")
    func pings() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        client.advance(by: .milliseconds(30))
        client.received(Envelope(event: EventName.pong))
        client.received(.ping)
        var pings = client.statistics.pings
        #expect(pings.sent == 1 && pings.answered == 1 && pings.received == 1)
        #expect(pings.roundTrip.last == .milliseconds(30))
        // A pong without a ping changes no count.
        client.received(Envelope(event: EventName.pong))
        // If two pings are unanswered, the first pong may belong to either ping.
        client.checkConnection()
        client.advance(by: .milliseconds(10))
        client.checkConnection()
        client.advance(by: .milliseconds(10))
        client.received(Envelope(event: EventName.pong))
        client.received(Envelope(event: EventName.pong))
        pings = client.statistics.pings
        #expect(pings.sent == 3 && pings.answered == 3 && client.statistics.messages.ignored == 1)
        #expect(pings.roundTrip.count == 1)
    }

    @Test("A missing pong affects only the round-trip time of its own ping")
    func missingPong() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        // Another message keeps the connection alive.
        client.frameReceived()
        for sent in 2...3 {
            client.advance(by: .seconds(120))
            client.advance(by: .milliseconds(30))
            client.received(Envelope(event: EventName.pong))
            let pings = client.statistics.pings
            #expect(pings.sent == sent && pings.answered == sent - 1)
            #expect(pings.roundTrip.count == sent - 1 && pings.roundTrip.longest == .milliseconds(30))
        }
        #expect(client.statistics.messages.ignored == 0)
    }

    @Test("A late pong does not count for the next connection")
    func pongOfAnother() {
        var client = CoreClient.connected()
        client.checkConnection()
        client.closed()
        client.connect()
        client.establish()
        client.received(Envelope(event: EventName.pong))
        #expect(client.statistics.pings.answered == 0)
    }

    @Test("The reason of the loss after an unanswered ping is the pong timeout")
    func pongTimeout() {
        var client = CoreClient.connected()
        client.advance(by: .seconds(150))
        #expect(client.statistics.connections.lost == [.pongTimeout: 1])
    }

    enum Wake: CaseIterable { case timer, call, check, end }

    @Test("A loss after a suspension counts as suspended, however the client notices it", arguments: Wake.allCases)
    func suspended(wake: Wake) {
        var client = CoreClient.connected()
        client.suspend(for: .seconds(3_600))
        switch wake {
        case .timer: client.advance(by: .seconds(120))
        case .call: client.connect()
        case .check: client.checkConnection()
        case .end: client.closed()
        }
        let words = client.advance(by: .seconds(30)).reports.map(\.message)
        #expect(client.statistics.connections.lost == [.suspended: 1])
        #expect(wake == .end || words.contains { $0.contains("suspended") })
    }

    @Test("A loss after a suspension counts as suspended, even if a pong was pending", arguments: Wake.allCases)
    func suspendedBeforePong(wake: Wake) {
        var client = CoreClient.connected()
        client.advance(by: .seconds(120))
        client.suspend(for: .seconds(3_600))
        switch wake {
        case .timer: break
        case .call: client.connect()
        case .check: client.checkConnection()
        case .end: client.closed()
        }
        client.advance(by: .seconds(30))
        #expect(client.statistics.connections.lost == [.suspended: 1])
    }

    @Test("A loss after a suspension has another reason if the server sends a close code, or the suspension is short")
    func notSuspended() {
        var client = CoreClient.connected()
        client.suspend(for: .seconds(3_600))
        client.closed(code: 4201)
        client.connect()
        client.establish()
        client.suspend(for: .seconds(125))
        client.connect()
        client.advance(by: .seconds(30))
        #expect(client.statistics.connections.lost == [.closed42xx: 1, .pongTimeout: 1])
    }
}

extension CoreClient {
    var statistics: PusherStatistics { machine.statistics(now: now) }

    /// The counts of attempts and connections that are not zero.
    fileprivate var connections: String {
        let connections = statistics.connections
        let counts = [
            (connections.attempts, "attempts"), (connections.established, "established"),
        ]
        var words = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        words += connections.failedAttempts.keys.map { "failed \($0)" }.sorted()
        let others = [(connections.abandonedAttempts, "abandoned"), (connections.closed, "closed")]
        words += others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return words.joined(separator: ", ")
    }
}
