import ArgumentParser
import PusherClient
import PusherTestServer

/// A way to lose a connection.
enum Loss: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// The server sends a close frame that asks the client to reconnect.
    case closeFrame = "close-frame"
    /// The server's TCP connection closes without a close frame.
    case end = "fin"
    case reset = "rst"
    /// The connection stays open, but no data arrives.
    case halfOpen = "half-open"
    /// The connection is reset, and the relay refuses connections for a while.
    case refused
    /// The server sends bytes that are not a WebSocket frame.
    case corrupted
    /// The connection is reset, and the server refuses the next upgrade.
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
            // The relay still keeps its connection to the server open. The server must not count this connection as a
            // subscriber.
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
