import Logging
import PusherTestServer
import TestTraits
import Testing

@testable import PusherClient

@Suite("Statuses", .limited, .overEachTransport)
struct StatusTests {
    let world = VirtualWorld()
    private static let now = ContinuousClock.now
    private static let reason = PusherClientError(.connectionClosed, "the network is down")

    @Test(
        "the description of a status names the state, the wait and the reason",
        arguments: [
            (.initialized, "not connected yet"), (.connecting, "connecting"),
            (.connected(socketID: "7.1"), "connected as 7.1"), (.unavailable(reason: nil), "still trying to connect"),
            (.unavailable(reason: reason), "still trying to connect: the network is down"),
            (
                .waiting(until: now + .seconds(8), attempt: 2, reason: reason),
                "retrying in 8 s (attempt 2): the network is down"
            ),
            (
                .waiting(until: now + .milliseconds(7_001), attempt: 2, reason: reason),
                "retrying in 8 s (attempt 2): the network is down"
            ),
            (
                .waiting(until: now + .microseconds(19_500), attempt: 1, reason: reason),
                "retrying in 20 ms (attempt 1): the network is down"
            ),
            (.waiting(until: now, attempt: 1, reason: reason), "retrying now (attempt 1): the network is down"),
            (
                .waiting(until: now - .seconds(3), attempt: 1, reason: reason),
                "retrying now (attempt 1): the network is down"
            ),
            (.refused(reason), "refused: the network is down"), (.disconnecting, "disconnecting"),
            (.disconnected(reason: nil), "disconnected"),
            (.disconnected(reason: reason), "disconnected: the network is down"),
        ] as [(ConnectionStatus, String)]
    )
    func words(status: ConnectionStatus, words: String) {
        #expect(status.description(at: Self.now) == words)
    }

    @Test("a printed status shows the remaining time, not a raw clock value")
    func description() {
        let status = ConnectionStatus.waiting(until: .now + .seconds(86_400), attempt: 1, reason: Self.reason)
        #expect("\(status)".hasPrefix("retrying in 86") && "\(status)".hasSuffix("s (attempt 1): the network is down"))
    }

    @Test("the remaining time falls to zero, and is nil for a status without a wait")
    func remaining() {
        let status = ConnectionStatus.waiting(until: Self.now + .seconds(8), attempt: 2, reason: Self.reason)
        #expect(status.remaining(at: Self.now) == .seconds(8))
        #expect(status.remaining(at: Self.now + .seconds(5)) == .seconds(3))
        #expect(status.remaining(at: Self.now + .seconds(9)) == .zero)
        #expect(ConnectionStatus.connecting.remaining() == nil)
    }

    @Test("a status after a failure contains the reason")
    func reasons() {
        let statuses: [ConnectionStatus] = [
            .waiting(until: Self.now, attempt: 1, reason: Self.reason), .refused(Self.reason),
            .unavailable(reason: Self.reason), .disconnected(reason: Self.reason),
        ]
        #expect(statuses.allSatisfy { $0.reason == Self.reason })
        #expect(ConnectionStatus.connecting.reason == nil && ConnectionStatus.disconnected(reason: nil).reason == nil)
    }

    @Test("a wait lasts as long as its status says, and the status contains the reason of the loss")
    func retry() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(retryPolicy: .delays([.seconds(8)])))
        world.network.cutLinks()
        await world.run()
        let status = pusher.connection.status
        #expect(status.remaining(at: world.now) == .seconds(8))
        #expect(status.reason?.code == .connectionClosed)
        await world.advance(by: .seconds(8) - .nanoseconds(1))
        #expect(pusher.connection.status.remaining(at: world.now) == .nanoseconds(1))
        await world.advance(by: .nanoseconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test(
        "before every attempt to reconnect, a status reports the reason, even if there is no wait",
        arguments: [4200, 4100]
    )
    func reasonOfEach(code: Int) async throws {
        let pusher = try await world.makeConnectedClient()
        var statuses = pusher.statuses.makeAsyncIterator()
        #expect(await statuses.next()?.reason == nil)
        await world.advance(by: .seconds(5))
        world.server.closeConnections(code: code)
        await world.advance(by: .seconds(1))
        guard case .waiting(let until, 1, let reason) = await statuses.next() else {
            Issue.record("no reason")
            return
        }
        #expect(reason.serverCode == code && (code == 4100) == (until > world.now - .seconds(1)))
        #expect(await statuses.next() == .connecting)
        guard case .connected = await statuses.next() else {
            Issue.record("not connected")
            return
        }
    }

    @Test("when close code 4000 makes the client switch to TLS, a status reports the code")
    func overTLS() async throws {
        world.server.failConnections(1, with: .closed(code: 4000))
        let pusher = world.makeClient()
        var statuses = pusher.statuses.makeAsyncIterator()
        pusher.connect()
        await world.run()
        #expect(await statuses.next() == .initialized)
        #expect(await statuses.next() == .connecting)
        #expect(await statuses.next()?.reason?.serverCode == 4000)
        #expect(await statuses.next() == .connecting)
    }

    @Test("the log contains the reason and length of the wait, and later the length of the outage")
    func log() async throws {
        let lines = LogLines()
        let options = PusherClientOptions.virtual(
            retryPolicy: .delays([.seconds(8)]),
            logger: lines.logger(.warning)
        )
        let pusher = try await world.makeConnectedClient(options)
        world.network.cutLinks()
        await world.run()
        await world.advance(by: .seconds(8))
        try #require(pusher.connection.connectionState == .connected)
        let (lost, again) = (lines.messages.first ?? "", lines.messages.last ?? "")
        #expect(lines.messages.count == 2)
        #expect(lost.contains("pusher.error") && lost.contains("retrying in 8 s (attempt 1)"))
        #expect(again.contains(#""pusher.outage": 8.0 seconds"#) && again.contains("connected as"))
    }
}
