import PusherClient

/// The state of a room that a user interface shows.
package struct ChatState: Hashable, Sendable {
    package struct Line: Hashable, Sendable {
        package let sender: String
        package let text: String

        package init(_ sender: String, _ text: String) {
            self.sender = sender
            self.text = text
        }
    }

    /// The reason why nothing arrives at the moment; nil while the client is connected.
    package var banner: String? = "Not connected"
    package var isInside = false
    package var people: [String] = []
    package var typing: Set<String> = []
    package var lines: [Line] = []

    package init() {}
}

extension ConnectionStatus {
    /// Nil if there is nothing to report.
    var banner: String? {
        switch self {
        case .connected: nil
        case .waiting: "No connection. Trying again in \(Int((remaining() ?? .zero) / .seconds(1)) + 1) s"
        case .refused, .disconnecting, .disconnected: "You have left the room"
        case .initialized, .connecting, .unavailable: "Connecting …"
        }
    }
}
