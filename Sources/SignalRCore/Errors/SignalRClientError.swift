import RealtimePrimitives

/// An error that has no case in ``SignalRError``.
public struct SignalRClientError: Error, Sendable {
    /// The kind of an error. Later versions may add codes, so keep a `default` case when you switch over codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code, as `print` shows it.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The kind of the error.
    public var code: Code
    /// The failed operation and the reason, in one line.
    public var message: String
    /// The HTTP status of the server's answer; `nil` if the error does not concern an answer.
    public var httpStatus: Int?
    /// The code of the server's WebSocket close frame; `nil` if the server sent no close frame.
    public var closeCode: Int?
    /// The URL of the request that failed, without secrets; `nil` if the error does not concern one, as many losses do not.
    public var address: String?
    /// The underlying error, for example of the operating system; `nil` if there is none.
    public var cause: (any Error)?
    /// The minimum wait before the next attempt, from the `Retry-After` of a refusal.
    package var retryAfter = Duration.zero

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        httpStatus: Int? = nil,
        closeCode: Int? = nil,
        address: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        // The server can choose parts of the message.
        self.message = message.escapingControls
        self.httpStatus = httpStatus
        self.closeCode = closeCode
        self.address = address
        self.cause = cause
    }
}

extension SignalRClientError.Code {
    /// The server closed the connection with a Close message.
    public static let serverClosed = Self(rawValue: "serverClosed")
    /// The connection was lost without a Close message from the server. The code is the same for all transports.
    public static let transportClosed = Self(rawValue: "transportClosed")
    /// The connection closed without an error before a call, stream or upload was complete.
    public static let callEnded = Self(rawValue: "callEnded")
    /// A call took longer than its timeout.
    public static let callTimedOut = Self(rawValue: "callTimedOut")
    /// There was no connection before the timeout of `connected(timeout:)`.
    public static let waitTimedOut = Self(rawValue: "waitTimedOut")
    /// An argument of the app could not be encoded. The error's message contains its index.
    public static let encodingFailed = Self(rawValue: "encodingFailed")
    /// An argument, item or result of the server could not be decoded. The error's message says which of them.
    public static let decodingFailed = Self(rawValue: "decodingFailed")
    /// The server broke the rules of the hub protocol.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// The server resumed the connection with an impossible message number.
    public static let sequenceError = Self(rawValue: "sequenceError")
    /// No transport works. The error's message contains the reason for each transport.
    public static let allTransportsFailed = Self(rawValue: "allTransportsFailed")
    /// The server's public key is not in `tls.pins`. The client has sent nothing. The error's message contains the key's
    /// pin.
    public static let pinMismatch = Self(rawValue: "pinMismatch")
    /// TLS failed while the client opened a connection, for example because of the server's certificate. The client does
    /// not try another transport.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The server sent a message that is larger than `HttpConnectionOptions.maximumMessageSize`, or more at once than
    /// this limit and `receiveBufferSize` together.
    public static let messageTooBig = Self(rawValue: "messageTooBig")
    /// Your `accessTokenFactory` threw an error, which is the ``SignalRClientError/cause``.
    public static let accessTokenFailed = Self(rawValue: "accessTokenFailed")
    /// The server refused the token of a refresh. ``SignalRClientError/httpStatus`` has the reason: 401 for a token that
    /// the server does not accept, 403 for a token of another user, 404 if the server does not know the connection, or if
    /// the hub refreshes no tokens. The connection stays open until the old token expires.
    public static let authenticationRefreshRefused = Self(rawValue: "authenticationRefreshRefused")
    /// A request failed, or the client could not open a connection.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// Your code consumes messages too slowly, so the waiting messages exceed the limit.
    public static let receiveBufferFull = Self(rawValue: "receiveBufferFull")
}

extension SignalRClientError {
    /// The error for a message of the server that is larger than the limit, over any transport.
    package static func messageTooBig(limit: Int) -> Self {
        Self(
            .messageTooBig,
            "Connection lost: the server sent a message of more than \(limit) bytes. Raise maximumMessageSize."
        )
    }

    /// The error for more bytes than a transport may deliver together.
    package static func deliveryTooLarge(limit: Int) -> Self {
        Self(
            .messageTooBig,
            "Connection lost: the server sent more than \(limit) bytes at once. "
                + "Raise maximumMessageSize or receiveBufferSize."
        )
    }
}

extension SignalRClientError {
    /// The error for a response that refuses an attempt to connect.
    ///
    /// - Parameters:
    ///   - operation: What failed, for example "Negotiation".
    ///   - address: The URL of the request, without secrets.
    ///   - hint: A sentence with a space before it, or nothing.
    package init(
        refused operation: String,
        by address: String,
        status: Int,
        retryAfter: Duration,
        hint: String = ""
    ) {
        self.init(
            .connectionFailed,
            "\(operation) failed: \(address) answered with HTTP status \(status).\(hint)",
            httpStatus: status,
            address: address,
            cause: SignalRError.unexpectedResponseCode(status)
        )
        self.retryAfter = retryAfter
    }

    /// The error for a request of an attempt to connect that the server did not answer.
    package init(unanswered operation: String, by address: String) {
        self.init(
            .connectionFailed,
            "\(operation) failed: \(address) did not answer in time. A proxy may hold the answer back.",
            address: address,
            cause: SignalRError.httpTimeoutError
        )
    }
}

extension SignalRClientError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { rawValue }
}

/// Two errors are equal if all their properties except the cause are equal.
extension SignalRClientError: Hashable {
    /// Compares all properties except the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.httpStatus == right.httpStatus
            && left.closeCode == right.closeCode && left.address == right.address
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
