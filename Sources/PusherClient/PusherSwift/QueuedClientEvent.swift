import Foundation
import PusherProtocol

/// A client event that waits to be sent: for its channel to be subscribed, or for the server's limit on their number.
public struct QueuedClientEvent: Sendable {
    /// The event's name.
    public let name: String
    private let payload: Envelope.Payload

    init(_ envelope: Envelope) {
        name = envelope.event
        payload = envelope.data
    }

    /// The data, as `JSONSerialization` reads back what will be sent.
    public var data: Any {
        switch payload {
        case .none: NSNull()
        case .string(let text): text
        case .json(let text): JSONText.value(of: text) ?? text
        }
    }
}
