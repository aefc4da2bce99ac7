/// The code of a WebSocket close frame (RFC 6455, section 7.4).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The number in the close frame.
    public let rawValue: Int

    /// Creates a code from its number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Creates a code from its number.
    public init(integerLiteral value: Int) { self.rawValue = value }

    /// 1000: the connection is no longer needed.
    public static let normalClosure: Self = 1000
    /// 1001: the endpoint is leaving, for example because the server shuts down.
    public static let goingAway: Self = 1001
    /// 1002: the peer broke the rules of the protocol.
    public static let protocolError: Self = 1002
    /// 1003: the peer sent a kind of message that the endpoint does not accept.
    public static let unsupportedData: Self = 1003
    /// 1005: the close frame had no code. No frame contains this code.
    public static let noStatusReceived: Self = 1005
    /// 1007: the content of a message does not fit its type, for example text that is not UTF-8.
    public static let invalidPayload: Self = 1007
    /// 1008: a message violates a rule of the endpoint.
    public static let policyViolation: Self = 1008
    /// 1009: a message is too big.
    public static let messageTooBig: Self = 1009
    /// 1011: the server encountered an unexpected condition.
    public static let internalError: Self = 1011
}

extension WebSocketCloseCode: CustomStringConvertible {
    /// The number.
    public var description: String { String(rawValue) }
}

extension WebSocketCloseCode {
    /// Whether a close frame can contain the code.
    var canBeSent: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    func check() throws(WebSocketError) {
        if canBeSent { return }
        throw WebSocketError(
            .invalidCloseCode,
            "Invalid close code \(self): it must be 1000 to 1003, 1007 to 1014, or 3000 to 4999."
        )
    }
}
