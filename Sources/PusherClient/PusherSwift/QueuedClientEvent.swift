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

    /// The value that `JSONSerialization` reads from the event's JSON text. If the client sends the data as a string,
    /// this property is that string. If the event has no data, this property is `NSNull`.
    public var data: Any {
        switch payload {
        case .none: NSNull()
        case .string(let text): text
        case .json(let text): UntypedJSON.value(of: text) ?? text
        }
    }
}
