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
    /// Nothing arrives any more, and no error says so.
    case halfOpen = "half-open"
    /// Reset, and then refused for a while.
    case refused
    /// Bytes that are no WebSocket any more.
    case corrupted
    /// Reset, and the next attempt ends as soon as it is made.
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
            // What the relay still takes for open is not what the server shall count as a subscriber.
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
