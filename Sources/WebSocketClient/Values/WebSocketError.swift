public import Foundation
public import RealtimeNetworking
public import RealtimePrimitives

/// An error of a WebSocket client.
public struct WebSocketError: Error, Sendable {
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
    /// The code of the server's close frame, if it sent one.
    public var closeCode: WebSocketCloseCode?
    /// The status of the server's answer to the upgrade, if it was not 101.
    public var httpStatus: Int?
    /// The underlying error, for example of the operating system.
    public var cause: (any Error)?

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        closeCode: WebSocketCloseCode? = nil,
        httpStatus: Int? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message.escapingControls
        self.closeCode = closeCode
        self.httpStatus = httpStatus
        self.cause = cause
    }

    package init(_ error: NetworkError) {
        self.init(Code(rawValue: error.code.rawValue), error.message, cause: error.cause)
    }

    /// Why TLS failed, if the error is about that.
    public var tlsFailure: TLSFailure? { cause as? TLSFailure }
}

extension WebSocketError.Code {
    /// The URL is not a `ws` or `wss` URL.
    public static let invalidURL = Self(rawValue: "invalidURL")
    /// The host is not a host name or an IP address.
    public static let invalidHost = Self(rawValue: "invalidHost")
    /// The port is not within 1 and 65535.
    public static let invalidPort = Self(rawValue: "invalidPort")
    /// The path has characters that an HTTP request cannot contain.
    public static let invalidPath = Self(rawValue: "invalidPath")
    /// An option has an invalid value, for example a malformed header.
    public static let invalidOption = Self(rawValue: "invalidOption")
    /// A close code that an app must not send.
    public static let invalidCloseCode = Self(rawValue: "invalidCloseCode")

    /// The host name could not be resolved.
    public static let nameResolutionFailed = Self(rawValue: "nameResolutionFailed")
    /// The TCP connection failed.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// TLS failed; ``WebSocketError/tlsFailure`` says why.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The server's public key is not in ``TLSOptions/pins``.
    public static let pinMismatch = Self(rawValue: "pinMismatch")
    /// The proxy's address is invalid, or the proxy cannot be used for that server.
    public static let invalidProxy = Self(rawValue: "invalidProxy")
    /// The proxy was not reached, or did not connect to the server.
    public static let proxyFailed = Self(rawValue: "proxyFailed")
    /// The server did not accept the WebSocket upgrade.
    public static let upgradeFailed = Self(rawValue: "upgradeFailed")
    /// The attempt to connect took longer than ``WebSocketOptions/connectTimeout``.
    public static let connectionTimedOut = Self(rawValue: "connectionTimedOut")

    /// The connection was closed or lost.
    public static let connectionClosed = Self(rawValue: "connectionClosed")
    /// The server did not answer a ping in time.
    public static let pongTimedOut = Self(rawValue: "pongTimedOut")
    /// The client cannot read the answer to a ping, because your code consumes messages too slowly: see
    /// ``WebSocketOptions/receiveBufferSize``.
    public static let receiveBufferFull = Self(rawValue: "receiveBufferFull")
    /// The server broke the rules of the WebSocket protocol.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// A message of the server was larger than ``WebSocketOptions/maximumMessageSize``.
    public static let messageTooBig = Self(rawValue: "messageTooBig")
    /// A text message of the server was not UTF-8.
    public static let invalidText = Self(rawValue: "invalidText")
    /// The app's closure that makes the requests of a ``ReconnectingWebSocket`` threw an error, which is the cause.
    public static let requestFailed = Self(rawValue: "requestFailed")
    /// Too many messages already wait for the connection of a ``ReconnectingWebSocket``.
    public static let sendQueueFull = Self(rawValue: "sendQueueFull")
    /// The server does not read: more than ``WebSocketOptions/maximumSendBufferSize`` bytes waited for it.
    public static let sendBufferFull = Self(rawValue: "sendBufferFull")
}

/// Two errors are equal if everything but the cause is equal.
extension WebSocketError: Hashable {
    /// Compares everything but the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.closeCode == right.closeCode
            && left.httpStatus == right.httpStatus
    }

    /// Hashes code and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension WebSocketError.Code {
    /// Whether another attempt with the same request and options would fail in the same way.
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
    /// The message: what `localizedDescription` returns.
    public var errorDescription: String? { message }
}
