public import Foundation
public import RealtimePrimitives

/// The reason why TLS failed, as the cause of an error with the code `tlsFailed`.
///
/// ```swift
/// if error.tlsFailure?.code == .expired { showThatTheServerNeedsANewCertificate() }
/// ```
public struct TLSFailure: Error, Sendable {
    /// The reason for the failure. Later versions may add codes, so keep a `default` case when you switch over codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code, as `print` shows it.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server's certificate has expired.
        public static let expired = Self(rawValue: "expired")
        /// The server's certificate is not valid yet, or the clock of this machine is wrong.
        public static let notYetValid = Self(rawValue: "notYetValid")
        /// The certificate is valid, but not for the host.
        public static let hostMismatch = Self(rawValue: "hostMismatch")
        /// The server's certificate is its own issuer, and is not one of the ``TLSOptions/trustRoots``.
        public static let selfSigned = Self(rawValue: "selfSigned")
        /// No chain leads from the server's certificate to a trusted authority. The client does not trust the issuer,
        /// or an intermediate certificate is missing or invalid.
        public static let unknownIssuer = Self(rawValue: "unknownIssuer")
        /// The server's certificate names a trusted authority as its issuer, but the chain to that authority is broken.
        /// The authority did not sign the certificate, or the authority's own certificate is unusable. For authorities
        /// of the system, the reason is ``unknownIssuer`` instead.
        public static let badChain = Self(rawValue: "badChain")
        /// The purposes of the server's certificate do not include servers. For example, the certificate is only for
        /// clients.
        public static let wrongPurpose = Self(rawValue: "wrongPurpose")
        /// The client rejected the certificate for one of the reasons above, and does not know which.
        public static let certificateRefused = Self(rawValue: "certificateRefused")
        /// The server does not speak TLS on that port.
        public static let notTLS = Self(rawValue: "notTLS")
        /// The server does not speak TLS 1.2 or later.
        public static let unsupportedVersion = Self(rawValue: "unsupportedVersion")
        /// The server requires a client certificate, and did not accept ``TLSOptions/clientCertificate`` or got none.
        public static let clientCertificateRefused = Self(rawValue: "clientCertificateRefused")
        /// The server ended TLS with an alert for another reason.
        public static let refusedByServer = Self(rawValue: "refusedByServer")
        /// The connection was lost during the handshake.
        public static let connectionEnded = Self(rawValue: "connectionEnded")
        /// The client or the server could not decrypt data, because the data was changed in transit.
        public static let corrupted = Self(rawValue: "corrupted")
        /// Another reason. The cause is the error of the TLS library.
        public static let other = Self(rawValue: "other")
    }

    /// The reason for the failure.
    public var code: Code
    /// The failure as a message for people. The text names the host for ``Code-swift.struct/hostMismatch``. For other
    /// codes, only the error that contains this failure names the host.
    public var message: String
    /// The error of the TLS library. Printing the failure does not show this error.
    public var cause: (any Error)?

    /// Creates a failure.
    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message.escapingControls
        self.cause = cause
    }
}

extension TLSFailure.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { rawValue }
}

/// Two failures are equal if code and message are equal, regardless of the cause.
extension TLSFailure: Hashable {
    /// Compares code and message.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message
    }

    /// Hashes code and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension TLSFailure: ExplainedError, LocalizedError, CustomStringConvertible {
    /// Code and message in one line.
    public var description: String { "\(code): \(message)".escapingControls }
    /// The message, which `localizedDescription` returns.
    public var errorDescription: String? { message }
}
