import PusherClient

/// The state of a room that a user interface shows.
package struct ChatState: Hashable, Sendable {
    /// The reason why no messages arrive at the moment; nil while the client is connected.
    package var banner: String? = "Connecting …"
    package var isInside = false
    package var people: [String] = []
    package var typing: Set<String> = []
    /// The messages, each after the name of its sender.
    package var lines: [String] = []

    package init() {}
}

extension ConnectionStatus {
    /// The text of the banner; nil if there is nothing to report.
    var banner: String? {
        switch self {
        case .connected: nil
        case .waiting: "No connection. Trying again in \(Int(((remaining() ?? .zero) / .seconds(1)).rounded(.up))) s"
        case .refused(let error): error.message
        case .disconnecting, .disconnected: "You have left the room"
        case .initialized, .connecting, .unavailable: "Connecting …"
        }
    }
}
