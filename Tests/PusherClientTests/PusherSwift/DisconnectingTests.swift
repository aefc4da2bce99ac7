import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Disconnecting, in every state", .limited)
struct DisconnectingTests {
    let world = VirtualWorld()

    enum Moment: CaseIterable {
        case upgrading, awaitingGreeting, waiting, authorizing, subscribing, subscribed, pinging, disconnecting
    }

    /// Returns a client whose connection is in the given stage.
    private func client(at moment: Moment) async throws -> Pusher {
        switch moment {
        case .upgrading: world.server.failConnections(with: .stalled)
        case .awaitingGreeting: world.server.failConnections(with: .silent)
        case .waiting: world.network.failLinks(with: .unreachable)
        case .authorizing: world.server.failAuthorizations(with: .unanswered)
        case .subscribing: world.server.failSubscriptions(to: "private-orders", with: .unanswered)
        case .subscribed, .pinging, .disconnecting: break
        }
        let pusher = world.makeClient()
        let channel = pusher.subscribe("private-orders")
        pusher.connect()
        await world.run()
        switch moment {
        case .upgrading, .awaitingGreeting: try #require(pusher.connection.connectionState == .connecting)
        case .waiting: try #require(pusher.connection.connectionState == .reconnecting)
        case .authorizing: await world.runUntil { world.server.authorizationRequests.count == 1 }
        case .subscribing: await world.runUntil { received("pusher:subscribe") }
        case .subscribed: await world.runUntil { channel.subscribed }
        case .pinging:
            await world.runUntil { channel.subscribed }
            world.server.goSilent()
            await world.advance(by: .seconds(120))
            try #require(received("pusher:ping"))
        case .disconnecting:
            world.network.blackHoleLinks()
            pusher.disconnect()
            await world.run()
            try #require(pusher.connection.connectionState == .disconnecting)
        }
        return pusher
    }

    private func received(_ event: String) -> Bool {
        world.server.receivedMessages().contains { $0.contains(event) }
    }

    @Test(
        "disconnect() stops all timers and attempts, and closes all sockets (PusherSwift 459, 373, 195, 202)",
        arguments: Moment.allCases
    )
    func end(moment: Moment) async throws {
        let pusher = try await client(at: moment)
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        pusher.disconnect()
        pusher.disconnect()
        // The client waits two seconds for the server's answer to its close.
        await world.advance(by: .seconds(2))
        #expect(delegate.states.take().suffix(1) == [.disconnected])
        #expect(try await world.leftovers(of: pusher) == .none)

        world.server.acceptConnections()
        world.server.acceptAuthorizations()
        world.server.failSubscriptions(to: "private-orders", with: nil)
        world.server.speakAgain()
        world.network.failLinks(with: nil)
        await world.advance(by: .seconds(3_600))
        #expect(delegate.states.elements == [])
        #expect(pusher.connection.status == .disconnected(reason: nil))

        pusher.connect()
        await world.runUntil { pusher.connection.channels.find(name: "private-orders")?.subscribed == true }
        #expect(delegate.states.elements == [.connecting, .connected])
    }
}
