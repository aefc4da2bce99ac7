import PusherProtocol
import Testing

@testable import PusherCore

/// The states of the connection. Some states have several cases with a different history.
enum ConnectionSituation: CaseIterable {
    case initialized
    /// No socket yet.
    case connecting
    /// The socket is open, and the greeting has not arrived.
    case opened
    /// The greeting arrived before the report that the socket is open.
    case greeted
    case connectedJustNow, connectedForFiveSeconds, connectedForAMinute
    /// The client has sent a ping.
    case pinged
    case asking, waiting
    case disconnecting, disconnected, gaveUp, refused

    var state: String {
        switch self {
        case .initialized, .disconnected, .gaveUp, .refused: "disconnected"
        case .connecting, .opened, .greeted: "connecting"
        case .connectedJustNow, .connectedForFiveSeconds, .connectedForAMinute, .pinged: "connected"
        case .asking, .waiting: "reconnecting"
        case .disconnecting: "disconnecting"
        }
    }

    func client(_ configure: (inout CoreConfiguration) -> Void = { _ in }) -> CoreClient {
        var client = CoreClient(configure)
        if self == .initialized { return client }
        client.connect()
        switch self {
        case .initialized, .connecting: break
        case .opened: client.opened()
        case .greeted: client.greeted()
        case .connectedJustNow: client.establish()
        case .connectedForFiveSeconds:
            client.establish()
            client.advance(by: .seconds(5))
        case .connectedForAMinute:
            client.establish()
            client.advance(by: .seconds(60))
        case .pinged:
            client.establish()
            client.advance(by: .seconds(120))
        case .asking: client.closed()
        case .waiting:
            client.closed()
            client.decide(.seconds(3))
        case .disconnecting:
            client.establish()
            client.disconnect()
        case .disconnected: client.disconnect()
        case .gaveUp:
            client.closed()
            client.decide(nil)
        case .refused: client.closed(code: 4001)
        }
        #expect(client.state.stringValue() == state)
        return client
    }
}
