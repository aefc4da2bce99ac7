import Foundation
import NIOCore
package import NIOSSL

extension TLSFailure {
    /// Makes the failure for a handshake.
    ///
    /// - Parameters:
    ///   - error: The error that NIO reports; nil if the connection was lost without an error.
    ///   - host: The host for which the certificate must be valid.
    ///   - certificate: The server's certificate, if it has arrived.
    ///   - trustRoots: The authorities that the options trust.
    package static func handshake(
        _ error: (any Error)?,
        host: String,
        certificate: NIOSSLCertificate?,
        trustRoots: TLSOptions.TrustRoots
    ) -> TLSFailure {
        switch error {
        case nil: connectionEnded(nil)
        case let error as IOError: connectionEnded(error, ": \(String(cString: strerror(error.errnoCode)))")
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            TLSFailure(.hostMismatch, "the certificate is not for '\(host)'", cause: error)
        case NIOSSLError.handshakeFailed(.sslError(let stack))?:
            handshake(stack, certificate: certificate, trustRoots: trustRoots, cause: error)
        default: TLSFailure(.other, "the handshake failed", cause: error)
        }
    }

    /// Checks whether a certificate that NIO has verified is valid for the host. Returns the failure, or nil if the
    /// certificate is valid.
    ///
    /// NIO also accepts a certificate for the *address* of the connection's peer. With a proxy, the peer is the proxy.
    /// An attacker could pose as any server if they control name resolution and have a certificate for an address (RFC
    /// 9525, 6.1).
    package static func mismatch(of certificate: NIOSSLCertificate?, host: String) -> TLSFailure? {
        let fields = certificate.flatMap { CertificateFields($0) }
        // Without alternative names, NIO checks only the common name and never an address, so no further check is
        // necessary.
        if let fields, fields.hostNames == nil || fields.isFor(host: host) { return nil }
        return TLSFailure(.hostMismatch, "the certificate is not for '\(host)'")
    }

    /// Makes the failure for a connection that was lost after its handshake. Returns nil if TLS did not cause the loss.
    package static func established(_ error: (any Error)?) -> TLSFailure? {
        switch error {
        case NIOSSLError.uncleanShutdown?: return nil
        case BoringSSLError.sslError(let stack)?, NIOSSLError.handshakeFailed(.sslError(let stack))?:
            return alert(text(stack), error) ?? corrupted(error)
        case is BoringSSLError, is NIOSSLError: return corrupted(error)
        default: return nil
        }
    }

    private static func corrupted(_ error: (any Error)?) -> TLSFailure {
        TLSFailure(.corrupted, "data from the server could not be decrypted", cause: error)
    }

    /// Returns the reason in the server's TLS alert (RFC 8446, 6.2); nil if the server sent no alert.
    private static func alert(_ text: String, _ error: (any Error)?) -> TLSFailure? {
        guard text.contains("ALERT") else { return nil }
        if text.contains("BAD_RECORD_MAC") || text.contains("DECRYPT") {
            return TLSFailure(.corrupted, "the server could not decrypt the client's data", cause: error)
        }
        if text.contains("NO_APPLICATION_PROTOCOL") {
            return TLSFailure(.refusedByServer, "the server does not speak HTTP/1.1", cause: error)
        }
        guard text.contains("CERTIFICATE") || text.contains("UNKNOWN_CA") else {
            return TLSFailure(.refusedByServer, "the server ended TLS with an alert", cause: error)
        }
        return TLSFailure(
            .clientCertificateRefused,
            "the server requires a client certificate (tls.clientCertificate), and got none or did not accept it",
            cause: error
        )
    }

    /// The text of BoringSSL's errors. NIO passes on only this text.
    private static func text(_ stack: NIOBoringSSLErrorStack) -> String {
        stack.map(\.description).joined(separator: " ")
    }

    private static func connectionEnded(_ error: (any Error)?, _ reason: String = "") -> TLSFailure {
        TLSFailure(.connectionEnded, "the connection was lost during the handshake\(reason)", cause: error)
    }

    private static func handshake(
        _ stack: NIOBoringSSLErrorStack,
        certificate: NIOSSLCertificate?,
        trustRoots: TLSOptions.TrustRoots,
        cause: (any Error)?
    ) -> TLSFailure {
        if stack.contains(.eofDuringHandshake) { return connectionEnded(cause) }
        let text = text(stack)
        if text.contains("WRONG_VERSION_NUMBER") {
            return TLSFailure(.notTLS, "the server does not speak TLS on that port", cause: cause)
        }
        if text.contains("PROTOCOL_VERSION") || text.contains("UNSUPPORTED_PROTOCOL") {
            return TLSFailure(.unsupportedVersion, "the server does not speak TLS 1.2 or later", cause: cause)
        }
        guard text.contains("CERTIFICATE_VERIFY_FAILED") else {
            if let failure = alert(text, cause) { return failure }
            return text.contains("DECRYPT")
                ? corrupted(cause) : TLSFailure(.other, "the handshake failed", cause: cause)
        }
        var failure = refusal(of: certificate, trustRoots)
        failure.cause = cause
        return failure
    }

    /// Determines why the client rejected the server's certificate, from the fields of the certificate. NIO does not
    /// report which certificate of the chain caused the rejection.
    private static func refusal(of certificate: NIOSSLCertificate?, _ trustRoots: TLSOptions.TrustRoots) -> TLSFailure {
        guard let certificate else { return TLSFailure(.certificateRefused, "the client rejected the certificate") }
        let now = Int(Date().timeIntervalSince1970)
        if Int(certificate.notValidAfter) < now { return TLSFailure(.expired, "the certificate has expired") }
        if Int(certificate.notValidBefore) > now {
            return TLSFailure(
                .notYetValid,
                "the certificate is not valid yet, or the clock of this machine is wrong"
            )
        }
        guard let fields = CertificateFields(certificate) else {
            return TLSFailure(.certificateRefused, "the client rejected the certificate")
        }
        if fields.issuer == fields.subject {
            return TLSFailure(.selfSigned, "the certificate is signed by its own key, not by an authority")
        }
        let issuer = fields.issuerName.map { " '\($0)'" } ?? ""
        if trustRoots.subjects.contains(fields.issuer) {
            guard fields.isForServers else { return wrongPurpose }
            return TLSFailure(
                .badChain,
                """
                the certificate names the trusted authority\(issuer) as its issuer, but that authority did not sign it, or \
                the authority's own certificate cannot be used
                """
            )
        }
        return TLSFailure(
            .unknownIssuer,
            """
            the certificate is not from a trusted authority; its issuer\(issuer) is not trusted, or an intermediate \
            certificate is missing or wrong
            """
        )
    }

    private static let wrongPurpose = TLSFailure(.wrongPurpose, "the certificate is not for servers")
}

extension TLSOptions.TrustRoots {
    /// The names of the authorities in the options.
    fileprivate var subjects: Set<[UInt8]> {
        switch self {
        case .system: []
        case .systemAnd(let pem), .only(let pem):
            Set((try? NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).compactMap(CertificateFields.subject(of:))) ?? [])
        }
    }
}
