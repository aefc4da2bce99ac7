/// A value in the encoding of the hub protocol: one JSON text, or one MessagePack value.
package typealias EncodedValue = ArraySlice<UInt8>

/// A message of the hub protocol, in either direction.
///
/// Arguments, items and results stay encoded, because only the app knows their types.
package enum HubMessage: Hashable, Sendable {
    /// A call of a method. Without an id, the caller needs no answer.
    case invocation(HubInvocation)
    /// A call of a method that answers with many items.
    case streamInvocation(HubInvocation)
    /// An item of a stream, in either direction.
    case streamItem(id: String, item: EncodedValue, headers: [String: String] = [:])
    /// The end of a call, or of a stream.
    case completion(id: String, HubOutcome, headers: [String: String] = [:])
    /// The caller cancels the call.
    case cancelInvocation(id: String, headers: [String: String] = [:])
    case ping
    /// The sender is about to close the connection.
    case close(error: String?, allowReconnect: Bool)
    /// The sender has received all messages up to this number.
    case ack(UInt64)
    /// The number of the next message.
    case sequence(UInt64)
}

/// A call of a method.
package struct HubInvocation: Hashable, Sendable {
    package var id: String?
    package var target: String
    package var arguments: [EncodedValue]
    /// The ids of the streams among the arguments.
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

/// The result of a call.
package enum HubOutcome: Hashable, Sendable {
    case void
    case value(EncodedValue)
    case error(String)
}

extension HubMessage {
    /// The numbers of the message types in the protocol.
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

    /// Whether a resumable connection numbers the message, and keeps it until the other side acknowledges it.
    package var isTracked: Bool {
        switch self {
        case .invocation, .streamInvocation, .streamItem, .completion, .cancelInvocation: true
        case .ping, .close, .ack, .sequence: false
        }
    }
}

/// The error for bytes that break the rules of the protocol. After this error, the connection cannot continue.
package struct HubProtocolViolation: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String
    /// The limit for the size of a message, if the message is larger.
    package private(set) var exceededLimit: Int?

    package init(_ description: String) { self.description = description }

    static func tooLarge(limit: Int) -> Self {
        var violation = Self("a message is larger than \(limit) bytes")
        violation.exceededLimit = limit
        return violation
    }

    /// The failure of the connection.
    var failure: HubFailure {
        exceededLimit.map { .client(.messageTooBig(limit: $0)) } ?? .client(.protocolViolation, description)
    }
}
