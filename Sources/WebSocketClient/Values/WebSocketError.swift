public import Foundation
public import RealtimeNetworking
public import RealtimePrimitives

/// An error of a WebSocket client.
public struct WebSocketError: Error, Sendable {
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
    /// The code of the server's close frame; `nil` if the server sent no close frame.
    public var closeCode: WebSocketCloseCode?
    /// The HTTP status with which the server refused the upgrade; `nil` for other errors.
    public var httpStatus: Int?
    /// The response with which the server refused the upgrade; `nil` for other errors. Many servers explain a refusal
    /// in the body.
    public var response: WebSocketResponse?
    /// The server's URL without user, password and query; `nil` if the error does not concern a server.
    public var address: String?
    /// The underlying error, for example of the operating system; `nil` if there is none.
    public var cause: (any Error)?

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        closeCode: WebSocketCloseCode? = nil,
        httpStatus: Int? = nil,
        response: WebSocketResponse? = nil,
        address: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message.escapingControls
        self.closeCode = closeCode
        self.httpStatus = httpStatus
        self.response = response
        self.address = address
        self.cause = cause
    }

    package init(_ error: NetworkError) {
        self.init(Code(rawValue: error.code.rawValue), error.message, cause: error.cause)
    }

    /// The reason why TLS failed; `nil` if the error does not concern TLS.
    public var tlsFailure: TLSFailure? { cause as? TLSFailure }
}

extension WebSocketError.Code {
    /// The URL is not a `ws` or `wss` URL.
    public static let invalidURL = Self(rawValue: "invalidURL")
    /// The host is neither a host name nor an IP address.
    public static let invalidHost = Self(rawValue: "invalidHost")
    /// The port is not between 1 and 65535.
    public static let invalidPort = Self(rawValue: "invalidPort")
    /// The path does not begin with a slash, or contains characters that HTTP does not allow.
    public static let invalidPath = Self(rawValue: "invalidPath")
    /// An option has an invalid value, for example a malformed header.
    public static let invalidOption = Self(rawValue: "invalidOption")
    /// An app must not send this close code.
    public static let invalidCloseCode = Self(rawValue: "invalidCloseCode")

    /// The host name could not be resolved.
    public static let nameResolutionFailed = Self(rawValue: "nameResolutionFailed")
    /// The TCP connection failed.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// TLS failed. ``WebSocketError/tlsFailure`` contains the reason.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The server's public key is not in ``TLSOptions/pins``.
    public static let pinMismatch = Self(rawValue: "pinMismatch")
    /// The proxy's address is invalid, or the client cannot use the proxy for the server.
    public static let invalidProxy = Self(rawValue: "invalidProxy")
    /// The client did not reach the proxy, or the proxy did not connect to the server.
    public static let proxyFailed = Self(rawValue: "proxyFailed")
    /// The server did not accept the WebSocket upgrade.
    public static let upgradeFailed = Self(rawValue: "upgradeFailed")
    /// The attempt to connect took longer than ``WebSocketOptions/connectTimeout``.
    public static let connectionTimedOut = Self(rawValue: "connectionTimedOut")

    /// The time limit of ``ReconnectingWebSocket/connected(timeout:)`` or another waiting call is over.
    public static let waitTimedOut = Self(rawValue: "waitTimedOut")

    /// The connection was closed or lost.
    public static let connectionClosed = Self(rawValue: "connectionClosed")
    /// Nothing arrived within the timeout after a heartbeat of a ``ReconnectingWebSocket``.
    public static let pongTimedOut = Self(rawValue: "pongTimedOut")
    /// The client did not send a ping, because it has paused reading and could not read the answer. Your code consumes
    /// messages too slowly: see ``WebSocketOptions/receiveBufferSize``.
    public static let receiveBufferFull = Self(rawValue: "receiveBufferFull")
    /// The server broke the rules of the WebSocket protocol.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// A message of the server was larger than ``WebSocketOptions/maximumMessageSize``.
    public static let messageTooBig = Self(rawValue: "messageTooBig")
    /// A text message of the server was not UTF-8.
    public static let invalidText = Self(rawValue: "invalidText")
    /// The app's closure that makes the requests of a ``ReconnectingWebSocket`` threw an error, which is the
    /// ``WebSocketError/cause``.
    public static let requestFailed = Self(rawValue: "requestFailed")
    /// Too many messages already wait for the connection of a ``ReconnectingWebSocket``.
    public static let sendQueueFull = Self(rawValue: "sendQueueFull")
    /// The server took nothing for ``WebSocketOptions/sendTimeout``, while more than
    /// ``WebSocketOptions/sendBufferSize`` bytes waited to be sent.
    public static let sendBufferFull = Self(rawValue: "sendBufferFull")
}

/// Two errors are equal if all their properties except the cause are equal.
extension WebSocketError: Hashable {
    /// Compares all properties except the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.closeCode == right.closeCode
            && left.httpStatus == right.httpStatus && left.response == right.response
            && left.address == right.address
    }

    /// Hashes code and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension WebSocketError {
    /// The error of a call after the app has closed the WebSocket.
    static let closedByApp = Self(.connectionClosed, "Not connected: the WebSocket is closed.")

    /// - Parameter what: What did not happen within the time limit.
    static func waitTimedOut(_ what: String, _ timeout: Duration?) -> Self {
        Self(.waitTimedOut, "Wait timed out: \(what) within \((timeout ?? .zero).inWords).")
    }
}

extension WebSocketError.Code {
    /// Whether another attempt with the same request and options would fail for the same reason.
    var isPermanent: Bool {
        switch self {
        case .invalidURL, .invalidHost, .invalidPort, .invalidPath, .invalidOption, .invalidProxy: true
        default: false
        }
    }
}

extension WebSocketError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { rawValue }
}

extension WebSocketError: ExplainedError, LocalizedError, CustomStringConvertible {
    /// Code and message in one line.
    public var description: String { "\(code): \(message)" }
    /// The message, which `localizedDescription` returns.
    public var errorDescription: String? { message }
}
