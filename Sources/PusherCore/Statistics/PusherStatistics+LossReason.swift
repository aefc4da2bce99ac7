import PusherProtocol

extension PusherStatistics {
    /// The reason why a connection was lost, or an attempt failed. Later versions may add reasons, so keep a `default`
    /// when you switch over them.
    public struct LossReason: RawRepresentable, Hashable, Sendable {
        /// The reason's printed name.
        public let rawValue: String

        /// Creates a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server refused the client, or demanded TLS. It sent a code from 4000 to 4099 in its close frame, or in
        /// an error before its greeting.
        public static let closed40xx = Self(rawValue: "closed40xx")
        /// The server was too busy (close codes 4100–4199).
        public static let closed41xx = Self(rawValue: "closed41xx")
        /// The server requested that the client reconnects at once (close codes 4200–4299).
        public static let closed42xx = Self(rawValue: "closed42xx")
        /// The server refused the client with a code of 4300 or above.
        public static let closed43xx = Self(rawValue: "closed43xx")
        /// The server closed the connection with another code, or without a code.
        public static let closed = Self(rawValue: "closed")
        /// The server sent `pusher:error` instead of its greeting, without a code, or with a code below 4000.
        public static let serverError = Self(rawValue: "serverError")
        /// The server was not reached, or the connection was lost without a closing handshake.
        public static let network = Self(rawValue: "network")
        /// The client could not resolve the host name.
        public static let nameResolution = Self(rawValue: "nameResolution")
        /// The client did not reach the proxy, or the proxy opened no connection.
        public static let proxy = Self(rawValue: "proxy")
        /// TLS failed. The handshake failed, the server's key is not pinned, or the client could not decrypt data.
        public static let tls = Self(rawValue: "tls")
        /// The server's answer to the WebSocket upgrade was invalid or missing, or the server did not open an HTTP
        /// session.
        public static let upgrade = Self(rawValue: "upgrade")
        /// The attempt took too long.
        public static let connectionTimeout = Self(rawValue: "connectionTimeout")
        /// The server did not answer a ping.
        public static let pongTimeout = Self(rawValue: "pongTimeout")
        /// The connection was lost while the machine was suspended, or the event loop was blocked for a long time.
        public static let suspended = Self(rawValue: "suspended")
        /// The server broke the rules of WebSocket or of an HTTP transport, sent text that is not UTF-8, or greeted
        /// without a socket id.
        public static let protocolViolation = Self(rawValue: "protocolViolation")
        /// A message was larger than the limit.
        public static let messageTooBig = Self(rawValue: "messageTooBig")
        /// The server did not read fast enough: see ``PusherClientOptions/Limits-swift.struct/sendBufferSize``.
        public static let sendBufferFull = Self(rawValue: "sendBufferFull")
        /// The app replaced the connection with ``Pusher/reconnectNow()`` or
        /// ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)``.
        public static let replaced = Self(rawValue: "replaced")
        /// Anything else.
        public static let other = Self(rawValue: "other")
    }
}

extension PusherStatistics.LossReason: CustomStringConvertible {
    /// The reason's name.
    public var description: String { rawValue }
}

extension PusherStatistics.LossReason {
    /// - Parameter wasSuspended: Whether the connection was silent for so long that the client's timers cannot have
    ///   run.
    init(_ error: PusherClientError, closeCode: CloseCode?, wasSuspended: Bool) {
        switch (closeCode?.rawValue, error.code) {
        case ((4000...4099)?, _): self = .closed40xx
        case ((4100...4199)?, _): self = .closed41xx
        case ((4200...4299)?, _): self = .closed42xx
        case ((4300...)?, _): self = .closed43xx
        case (_?, .serverError): self = .serverError
        case (_?, _): self = .closed
        case (nil, _) where wasSuspended: self = .suspended
        case (nil, .serverError): self = .serverError
        case (nil, .connectionClosed), (nil, .connectionFailed): self = .network
        case (nil, .nameResolutionFailed): self = .nameResolution
        case (nil, .proxyFailed), (nil, .invalidProxy): self = .proxy
        case (nil, .tlsFailed), (nil, .pinMismatch): self = .tls
        case (nil, .upgradeFailed): self = .upgrade
        case (nil, .connectionTimedOut): self = .connectionTimeout
        case (nil, .pongTimedOut): self = .pongTimeout
        case (nil, .protocolViolation), (nil, .invalidText), (nil, .malformedMessage): self = .protocolViolation
        case (nil, .messageTooBig): self = .messageTooBig
        case (nil, .sendBufferFull): self = .sendBufferFull
        case (nil, _): self = .other
        }
    }
}
