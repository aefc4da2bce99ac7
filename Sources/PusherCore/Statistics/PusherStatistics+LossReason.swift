import PusherProtocol

extension PusherStatistics {
    /// Why a connection was lost, or an attempt failed. New reasons may come with new versions: keep a `default` when
    /// you switch over them.
    public struct LossReason: RawRepresentable, Hashable, Sendable {
        /// The reason's name, as it is printed.
        public let rawValue: String

        /// Makes a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server refused the client for good: a close code within 4000–4099, or such an error before its greeting.
        public static let closed40xx = Self(rawValue: "closed40xx")
        /// The server is too busy: 4100–4199.
        public static let closed41xx = Self(rawValue: "closed41xx")
        /// The server asks to reconnect at once: 4200–4299.
        public static let closed42xx = Self(rawValue: "closed42xx")
        /// The server refuses with a code of 4300 or above.
        public static let closed43xx = Self(rawValue: "closed43xx")
        /// The server closed the connection with any other code, or with none.
        public static let closed = Self(rawValue: "closed")
        /// The server sent `pusher:error` instead of its greeting, without a code or with one outside the ranges above.
        public static let serverError = Self(rawValue: "serverError")
        /// The server was not reached, or the connection ended without a closing handshake.
        public static let network = Self(rawValue: "network")
        /// The host's name could not be resolved.
        public static let nameResolution = Self(rawValue: "nameResolution")
        /// The client did not reach the proxy, or the proxy opened no connection.
        public static let proxy = Self(rawValue: "proxy")
        /// TLS failed: in the handshake, because the server's key is not pinned, or later, because data could not be
        /// decrypted.
        public static let tls = Self(rawValue: "tls")
        /// The server's answer to the WebSocket upgrade was invalid, or missing.
        public static let upgrade = Self(rawValue: "upgrade")
        /// The attempt took too long.
        public static let connectionTimeout = Self(rawValue: "connectionTimeout")
        /// A ping was not answered.
        public static let pongTimeout = Self(rawValue: "pongTimeout")
        /// The machine was suspended, or the event loop blocked for a long time, and the connection did not survive it.
        public static let suspended = Self(rawValue: "suspended")
        /// The server broke the rules of WebSocket, or greeted without a socket id.
        public static let protocolViolation = Self(rawValue: "protocolViolation")
        /// A message was larger than the limit.
        public static let messageTooBig = Self(rawValue: "messageTooBig")
        /// The server did not read fast enough: see ``PusherClientOptions/Limits-swift.struct/sendBufferSize``.
        public static let sendBufferFull = Self(rawValue: "sendBufferFull")
        /// The app replaced the connection: ``Pusher/reconnectNow()``, or
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
    /// - Parameter wasSuspended: Whether the connection was silent for longer than is possible while timers run.
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
