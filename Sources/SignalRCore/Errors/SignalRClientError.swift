/// An error that has no case in ``SignalRError``.
public struct SignalRClientError: Error, Sendable {
    /// The kind of an error. New codes may come with new versions: keep a `default` when you switch over them.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's name, as it is printed.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The kind of the error.
    public var code: Code
    /// What failed and why, in one line.
    public var message: String
    /// The HTTP status of the server's answer, if the error is about that.
    public var httpStatus: Int?
    /// The code of the server's WebSocket close frame, if it sent one.
    public var closeCode: Int?
    /// The underlying error, for example of the operating system.
    public var cause: (any Error)?

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        httpStatus: Int? = nil,
        closeCode: Int? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.closeCode = closeCode
        self.cause = cause
    }
}

extension SignalRClientError.Code {
    /// The server said that it closes the connection.
    public static let serverClosed = Self(rawValue: "serverClosed")
    /// The connection ended without a Close message of the server.
    public static let transportClosed = Self(rawValue: "transportClosed")
    /// The connection ended or was stopped while a call was waiting for it.
    public static let callEnded = Self(rawValue: "callEnded")
    /// A call took longer than its timeout.
    public static let callTimedOut = Self(rawValue: "callTimedOut")
    /// An argument, item or result could not be decoded; the message says which.
    public static let decodingFailed = Self(rawValue: "decodingFailed")
    /// The server broke the rules of the hub protocol.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// The server continued a connection with a message that it cannot have sent yet.
    public static let sequenceError = Self(rawValue: "sequenceError")
    /// No transport works; the message has the reason for each.
    public static let allTransportsFailed = Self(rawValue: "allTransportsFailed")
    /// A request failed, or no connection was opened.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// Your code consumes messages too slowly: more are waiting than the limit allows.
    public static let receiveBufferFull = Self(rawValue: "receiveBufferFull")
}

extension SignalRClientError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { rawValue }
}

/// Two errors are equal if everything but the cause is equal.
extension SignalRClientError: Hashable {
    /// Compares everything but the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.httpStatus == right.httpStatus
            && left.closeCode == right.closeCode
    }

    /// Hashes code and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension SignalRClientError: CustomStringConvertible {
    /// Code and message in one line.
    public var description: String { "\(code): \(message)" }
}
