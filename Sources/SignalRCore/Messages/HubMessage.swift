/// A value as encoded by the hub protocol: one JSON text, or one MessagePack value.
package typealias EncodedValue = ArraySlice<UInt8>

/// A message of the hub protocol, in either direction.
///
/// Arguments, items and results stay encoded, because only the app knows their types.
package enum HubMessage: Hashable, Sendable {
    /// Calls a method. Without an id, the caller needs no answer.
    case invocation(HubInvocation)
    /// Calls a method that answers with many items.
    case streamInvocation(HubInvocation)
    /// One item of a stream of either side.
    case streamItem(id: String, item: EncodedValue, headers: [String: String] = [:])
    /// The end of a call, or of a stream.
    case completion(id: String, HubOutcome, headers: [String: String] = [:])
    /// The caller cancels the call.
    case cancelInvocation(id: String, headers: [String: String] = [:])
    case ping
    /// The sender is about to close the connection.
    case close(error: String?, allowReconnect: Bool)
    /// All messages up to this one have arrived.
    case ack(UInt64)
    /// The number of the next message.
    case sequence(UInt64)
}

/// A call of a method.
package struct HubInvocation: Hashable, Sendable {
    package var id: String?
    package var target: String
    package var arguments: [EncodedValue]
    /// The streams that the caller sends along with the arguments.
    package var streamIDs: [String]
    package var headers: [String: String]

    package init(
        id: String? = nil,
        target: String,
        arguments: [EncodedValue] = [],
        streamIDs: [String] = [],
        headers: [String: String] = [:]
    ) {
        self.id = id
        self.target = target
        self.arguments = arguments
        self.streamIDs = streamIDs
        self.headers = headers
    }
}

/// How a call ended.
package enum HubOutcome: Hashable, Sendable {
    case void
    case value(EncodedValue)
    case error(String)
}

extension HubMessage {
    /// The numbers in the protocol.
    enum Kind: UInt64 {
        case invocation = 1
        case streamItem = 2
        case completion = 3
        case streamInvocation = 4
        case cancelInvocation = 5
        case ping = 6
        case close = 7
        case ack = 8
        case sequence = 9
    }

    /// Whether a resumable connection counts the message, and keeps it until it is acknowledged.
    package var isTracked: Bool {
        switch self {
        case .invocation, .streamInvocation, .streamItem, .completion, .cancelInvocation: true
        case .ping, .close, .ack, .sequence: false
        }
    }
}

/// The peer's bytes break the rules of the protocol. The connection cannot continue.
package struct HubProtocolViolation: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}
