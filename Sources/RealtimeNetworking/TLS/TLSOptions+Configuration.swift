import Foundation
import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
package import NIOSSL
import RealtimePrimitives

extension TLSOptions {
    /// Checks the options.
    ///
    /// - Throws: An error with the code ``NetworkError/Code/invalidOption`` if a PEM text or a pin is invalid, or if
    ///   the private key does not match the client certificate.
    package func validate() throws(NetworkError) {
        var configuration = try makeConfiguration()
        _ = try pinnedDigests()
        guard clientCertificate != nil else { return }
        // The certificate and the key are valid separately. Only a configuration with both shows whether the key
        // matches the certificate. This check does not need the trust roots.
        configuration.trustRoots = .certificates([])
        configuration.additionalTrustRoots = []
        do {
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw NetworkError(
                .invalidOption,
                "Invalid client certificate: the private key does not belong to the chain's first certificate.",
                cause: error
            )
        }
    }

    /// Makes the configuration of NIO for these options. Reads no files.
    package func makeConfiguration() throws(NetworkError) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification =
            switch certificateVerification {
            case .full: .fullVerification
            case .noHostnameVerification: .noHostnameVerification
            case .insecurelyTrustAnyCertificate: .none
            }
        switch trustRoots {
        case .system: configuration.trustRoots = .default
        case .systemAnd(let pem):
            configuration.trustRoots = .default
            configuration.additionalTrustRoots = [.certificates(try Self.certificates(pem))]
        case .only(let pem):
            configuration.trustRoots = .certificates(try Self.certificates(pem))
        }
        if let clientCertificate {
            let chain = try Self.certificates(clientCertificate.certificateChain, of: "client certificate")
            configuration.certificateChain = chain.map { .certificate($0) }
            do {
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(clientCertificate.privateKey.utf8), format: .pem)
                )
            } catch {
                // The error of NIO may contain a part of the key, so the message omits it.
                throw NetworkError(
                    .invalidOption,
                    "Invalid client certificate: the private key must be an unencrypted PEM key."
                )
            }
        }
        return configuration
    }

    /// The ``pins`` as bytes.
    func pinnedDigests() throws(NetworkError) -> Set<[UInt8]> {
        var digests: Set<[UInt8]> = []
        for pin in pins {
            let text = pin.hasPrefix(Self.pinPrefix) ? String(pin.dropFirst(Self.pinPrefix.count)) : pin
            guard let digest = Data(base64Encoded: text), digest.count == 32 else {
                throw NetworkError(
                    .invalidOption,
                    "Invalid pin \(pin.quoted): it is not the base64 of a SHA-256, which has 32 bytes."
                )
            }
            digests.insert(Array(digest))
        }
        return digests
    }

    private static let pinPrefix = "sha256/"

    enum PinCheck: Hashable {
        case match
        /// The certificate's key is not pinned. The text is the key's pin; nil if the key is unreadable.
        case mismatch(String?)
    }

    /// Compares the key of a verified certificate with the ``pins``.
    func checkPins(of certificate: NIOSSLCertificate?) -> PinCheck {
        guard !pins.isEmpty else { return .match }
        guard let key = try? certificate?.extractPublicKey().toSPKIBytes() else { return .mismatch(nil) }
        let digest = SHA256.digest(of: key)
        if let pinned = try? pinnedDigests(), pinned.contains(digest) { return .match }
        return .mismatch("\(Self.pinPrefix)\(Data(digest).base64EncodedString())")
    }

    private static func certificates(
        _ pem: String,
        of what: String = "trust roots"
    ) throws(NetworkError) -> [NIOSSLCertificate] {
        let certificates: [NIOSSLCertificate]
        do {
            certificates = try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8))
        } catch {
            throw NetworkError(
                .invalidOption,
                "Invalid \(what): the text is not a certificate in PEM form.",
                cause: error
            )
        }
        guard !certificates.isEmpty else {
            throw NetworkError(.invalidOption, "Invalid \(what): the PEM text has no certificate.")
        }
        return certificates
    }
}

/// The TLS options of a client, with the result of their check, and the TLS context. The client makes both at the first
/// use, and keeps them. So the check runs once: NIO leaks the context and the trust roots of each rejected
/// configuration.
package final class TLSContextSource: Sendable {
    package let options: TLSOptions
    private let outcome = NIOLockedValueBox<Result<Void, NetworkError>?>(nil)
    private let context = NIOLockedValueBox<NIOSSLContext?>(nil)

    package init(_ options: TLSOptions) { self.options = options }

    /// Checks the options once, and throws the errors of ``TLSOptions/validate()``.
    package func validate() throws(NetworkError) {
        try outcome.withLockedValue { outcome in
            let known = outcome ?? Result { () throws(NetworkError) in try options.validate() }
            outcome = known
            return known
        }
        .get()
    }

    /// Makes the context on another thread, because reading the system's trust roots takes milliseconds.
    package func context(on eventLoop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        if let context = context.withLockedValue({ $0 }) { return eventLoop.makeSucceededFuture(context) }
        return NIOSingletons.posixBlockingThreadPool.runIfActive(eventLoop: eventLoop) {
            try self.validate()
            let made = try NIOSSLContext(configuration: try self.options.makeConfiguration())
            return self.context.withLockedValue { context in
                let kept = context ?? made
                context = kept
                return kept
            }
        }
    }
}
