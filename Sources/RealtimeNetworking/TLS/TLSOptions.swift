/// How a server proves its identity, and the client its own, for connections over TLS (1.2 and later).
public struct TLSOptions: Hashable, Sendable {
    /// The authorities whose certificates are accepted. Default: ``TrustRoots-swift.enum/system``.
    public var trustRoots: TrustRoots

    /// The checks that the server's certificate must pass. Default: ``CertificateVerification-swift.enum/full``.
    public var certificateVerification: CertificateVerification

    /// The public keys that the server's certificate may have, in addition to all other checks.
    ///
    /// Each is the base64 of the SHA-256 of the key's `SubjectPublicKeyInfo`, with or without `sha256/` before it. Add a
    /// second one for a key that you keep in reserve. If the server shows another key, the connection ends before anything
    /// is sent on it, with the code `pinMismatch`. Default: none, and any key is accepted.
    ///
    /// ```sh
    /// openssl x509 -in certificate.pem -pubkey -noout | openssl pkey -pubin -outform der \
    ///     | openssl dgst -sha256 -binary | base64
    /// ```
    /// Pins are for the server's own certificate, not for those of its authorities. They are checked for WebSocket
    /// connections only.
    public var pins: Set<String>

    /// The certificate that the client shows if a server asks for one. Default: none.
    public var clientCertificate: ClientCertificate?

    /// Makes options. Each parameter has a default.
    public init(
        trustRoots: TrustRoots = .system,
        certificateVerification: CertificateVerification = .full,
        pins: Set<String> = [],
        clientCertificate: ClientCertificate? = nil
    ) {
        self.trustRoots = trustRoots
        self.certificateVerification = certificateVerification
        self.pins = pins
        self.clientCertificate = clientCertificate
    }

    /// A certificate of the client's own, and its key. Printing it shows nothing of the key.
    public struct ClientCertificate: Hashable, Sendable {
        /// The certificate in PEM form, followed by those between it and the root.
        package var certificateChain: String
        /// The certificate's private key in PEM form, not encrypted.
        package var privateKey: String

        /// Makes a client certificate. The texts are checked when the client connects.
        public init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

    /// Authorities whose certificates are accepted.
    public enum TrustRoots: Hashable, Sendable {
        /// The authorities that the operating system trusts.
        case system

        /// The authorities that the operating system trusts, and the certificates in this PEM text.
        case systemAnd(pem: String)

        /// The certificates in this PEM text and no others.
        case only(pem: String)
    }

    /// The checks of a server's certificate.
    public enum CertificateVerification: Hashable, Sendable {
        /// Its chain to a trusted authority, its dates, and its host: the name or address that the client connects to.
        case full

        /// Its chain to a trusted authority and its dates, but not its host.
        ///
        /// Anyone with a certificate from one of the ``TLSOptions/trustRoots`` can pose as the server. Use it together
        /// with ``TrustRoots-swift.enum/only(pem:)`` and an authority of your own.
        case noHostnameVerification

        /// None: any certificate is accepted. The connection is encrypted, but may be with anybody.
        ///
        /// For local servers during development only.
        case insecurelyTrustAnyCertificate
    }
}

extension TLSOptions.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Leaves the key out.
    public var description: String { "ClientCertificate(\(certificateChain.utf8.count) bytes)" }
    /// Leaves the key out.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
