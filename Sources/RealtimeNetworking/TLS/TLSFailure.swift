public import Foundation
public import RealtimePrimitives

/// Why TLS failed: the cause of an error whose code is `tlsFailed`.
///
/// ```swift
/// if error.tlsFailure?.reason == .expired { showThatTheServerNeedsANewCertificate() }
/// ```
public struct TLSFailure: Error, Sendable {
    /// The kind of failure. New reasons may come with new versions: keep a `default` when you switch over them.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        /// The reason's name, as it is printed.
        public let rawValue: String

        /// Makes a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server's certificate has expired.
        public static let expired = Self(rawValue: "expired")
        /// The server's certificate is not valid yet; or the clock of this machine is wrong.
        public static let notYetValid = Self(rawValue: "notYetValid")
        /// The certificate is valid, but not for the host.
        public static let hostMismatch = Self(rawValue: "hostMismatch")
        /// The server's certificate is its own issuer, and not one of the ``TLSOptions/trustRoots``.
        public static let selfSigned = Self(rawValue: "selfSigned")
        /// No chain of certificates leads from the server's to a trusted authority: its issuer is not trusted, or an
        /// intermediate certificate is missing or invalid.
        public static let unknownIssuer = Self(rawValue: "unknownIssuer")
        /// The server's certificate names a trusted authority as its issuer, but the authority did not sign it, or the
        /// authority's own certificate cannot be used. For authorities of the system, the reason is ``unknownIssuer``
        /// instead.
        public static let badChain = Self(rawValue: "badChain")
        /// The server's certificate is not for servers, but for example for clients.
        public static let wrongPurpose = Self(rawValue: "wrongPurpose")
        /// The certificate was refused for one of the reasons above, but it is unknown for which. HTTP requests have
        /// this reason instead of all of those except ``hostMismatch``.
        public static let certificateRefused = Self(rawValue: "certificateRefused")
        /// The server does not speak TLS on that port.
        public static let notTLS = Self(rawValue: "notTLS")
        /// The server does not speak TLS 1.2 or later.
        public static let unsupportedVersion = Self(rawValue: "unsupportedVersion")
        /// The server requires a client certificate, ``TLSOptions/clientCertificate``, and got none that it accepts.
        public static let clientCertificateRefused = Self(rawValue: "clientCertificateRefused")
        /// The server ended TLS with an alert for another reason.
        public static let refusedByServer = Self(rawValue: "refusedByServer")
        /// The connection ended during the handshake.
        public static let connectionEnded = Self(rawValue: "connectionEnded")
        /// The client or the server could not decrypt data, because it was changed on the way.
        public static let corrupted = Self(rawValue: "corrupted")
        /// Anything else; the cause is what the TLS library reports.
        public static let other = Self(rawValue: "other")
    }

    /// What was wrong.
    public var reason: Reason
    /// What was wrong, in words. It names the host for ``Reason-swift.struct/hostMismatch``. In other cases, the error
    /// that contains this one names it.
    public var message: String
    /// The error of the TLS library. It is not printed.
    public var cause: (any Error)?

    /// Makes an error.
    package init(_ reason: Reason, _ message: String, cause: (any Error)? = nil) {
        self.reason = reason
        self.message = message.escapingControls
        self.cause = cause
    }
}

extension TLSFailure.Reason: CustomStringConvertible {
    /// The reason's name.
    public var description: String { rawValue }
}

/// Two failures are equal if reason and message are equal; the cause is not compared.
extension TLSFailure: Hashable {
    /// Compares everything but the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.reason == right.reason && left.message == right.message
    }

    /// Hashes reason and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(reason)
        hasher.combine(message)
    }
}

extension TLSFailure: ExplainedError, LocalizedError, CustomStringConvertible {
    /// Reason and message in one line.
    public var description: String { "\(reason): \(message)".escapingControls }
    /// The message: what `localizedDescription` gives.
    public var errorDescription: String? { message }
}
