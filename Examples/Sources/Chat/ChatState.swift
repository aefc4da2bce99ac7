import PusherClient

/// The state of a room that a user interface shows.
package struct ChatState: Hashable, Sendable {
    /// A line of the conversation. Users choose their names, so an announcement is not a message of a certain sender.
    package enum Line: Hashable, Sendable {
        case message(String, from: String)
        case announcement(String)
    }

    /// The state of the connection, if there is something to report; nil while the client is connected.
    package var banner: String? = "Connecting …"
    /// The members; empty while the user is not in the room.
    package var people: [String] = []
    package var typing: Set<String> = []
    package var lines: [Line] = []

    package init() {}
}

extension ConnectionStatus {
    /// The text of the banner; nil if there is nothing to report.
    var banner: String? {
        switch self {
        case .connected: nil
        case .waiting: "No connection. Trying again in \(Int(((remaining() ?? .zero) / .seconds(1)).rounded(.up))) s"
        case .refused(let error), .disconnected(reason: let error?): error.message
        case .disconnecting, .disconnected(reason: nil): "Not connected"
        case .initialized, .connecting, .unavailable: "Connecting …"
        }
    }
}
