import ArgumentParser
import PusherClient
import PusherTestServer

/// A way to lose a connection.
enum Loss: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// A close frame of the server that asks to reconnect.
    case closeFrame = "close-frame"
    /// TCP ends without a close frame.
    case end = "fin"
    case reset = "rst"
    /// Nothing arrives any more, without an error.
    case halfOpen = "half-open"
    /// Reset, and then refused for a while.
    case refused
    /// Bytes that are not a WebSocket frame.
    case corrupted
    /// A reset, and an end of the next attempt as soon as it is made.
    case refusedUpgrade = "refused-upgrade"

    func befall(_ client: SoakClient, _ server: PusherTestServer, _ relay: PusherTestRelay) async throws {
        switch self {
        case .closeFrame: server.closeConnections(code: 4200, reason: "please reconnect")
        case .end: relay.dropConnections()
        case .reset: relay.resetConnections()
        case .halfOpen:
            relay.fail(with: .swallowed)
            client.pusher.checkConnection(timeout: .milliseconds(5))
            try await client.waitForStatus { if case .connected = $0 { false } else { true } }
            relay.passOn()
            // The server must not count a connection as a subscriber that only the relay considers open.
            relay.dropConnections()
        case .refused:
            await relay.stopListening()
            relay.resetConnections()
            try await client.waitForStatus { status in
                if case .waiting(_, _, let reason) = status { reason.code == .connectionFailed } else { false }
            }
            try await relay.start()
        case .corrupted:
            relay.fail(.toClient, with: .corrupted(every: 1))
            server.sendText(#"{"event":"changed","data":"on the way"}"#)
            try await client.waitForStatus { if case .connected = $0 { false } else { true } }
            relay.passOn()
            relay.dropConnections()
        case .refusedUpgrade:
            server.failConnections(1, with: .refused(status: 503))
            relay.resetConnections()
        }
    }
}
