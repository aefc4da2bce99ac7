import Foundation
import PusherProtocol

/// A client event that waits until its channel is subscribed, or until the server's limit allows it.
public struct QueuedClientEvent: Sendable {
    /// The event's name.
    public let name: String
    private let payload: Envelope.Payload

    init(_ envelope: Envelope) {
        name = envelope.event
        payload = envelope.data
    }

    /// The object that `JSONSerialization` makes from the event's JSON text. If the client sends the data as a string,
    /// the data is this string. If the event has no data, it is `NSNull`.
    public var data: Any {
        switch payload {
        case .none: NSNull()
        case .string(let text): text
        case .json(let text): JSONText.value(of: text) ?? text
        }
    }
}
