/// The options for TLS (1.2 and later). They determine how the server proves its identity, and how the client proves
/// its own identity.
public struct TLSOptions: Hashable, Sendable {
    /// The authorities whose certificates the client accepts. Default: ``TrustRoots-swift.enum/system``.
    public var trustRoots: TrustRoots

    /// The checks that the server's certificate must pass. Default: ``CertificateVerification-swift.enum/full``.
    public var certificateVerification: CertificateVerification

    /// The public keys that the client accepts in the server's certificate. The client checks the key in addition to
    /// all other checks.
    ///
    /// Each pin is the base64 of the SHA-256 of the key's `SubjectPublicKeyInfo`, with or without `sha256/` before it.
    /// Add a second pin for a key that you keep in reserve. If the server shows another key, the client closes the
    /// connection with the code `pinMismatch`, before it sends anything. Default: no pins. Without pins, the client
    /// accepts any key.
    ///
    /// ```sh
    /// openssl x509 -in certificate.pem -pubkey -noout | openssl pkey -pubin -outform der \
    ///     | openssl dgst -sha256 -binary | base64
    /// ```
    /// A pin is for the server's own certificate, not for the certificate of an authority. The client checks pins for
    /// all connections, so the pins must include the keys of all servers, for example of authorization endpoints and of
    /// servers to which other servers redirect. If there are pins, a connection without TLS is an error.
    public var pins: Set<String>

    /// The client's own certificate, for servers that request it. Default: none.
    public var clientCertificate: ClientCertificate?

    /// Creates options. Each parameter has a default.
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

    /// A client certificate and its key. Printing the client certificate does not show the key.
    public struct ClientCertificate: Hashable, Sendable {
        /// The certificate in PEM form, followed by all certificates between it and the root.
        package var certificateChain: String
        /// The private key of the certificate in PEM form, not encrypted.
        package var privateKey: String

        /// Creates a client certificate. The client checks the certificate and the key when it connects.
        public init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

    /// The authorities whose certificates the client accepts.
    public enum TrustRoots: Hashable, Sendable {
        /// The authorities that the operating system trusts.
        case system

        /// The authorities that the operating system trusts, and the certificates in a PEM text.
        case systemAnd(pem: String)

        /// Only the certificates in a PEM text.
        case only(pem: String)
    }

    /// The checks of a server's certificate.
    public enum CertificateVerification: Hashable, Sendable {
        /// The client checks the chain to a trusted authority, the dates, and the host name or address.
        case full

        /// The client checks the chain to a trusted authority and the dates, but not the host.
        ///
        /// Anyone with a certificate from one of the ``TLSOptions/trustRoots`` can pose as the server. Use this option
        /// only together with ``TrustRoots-swift.enum/only(pem:)`` and the certificate of your own authority.
        case noHostnameVerification

        /// The client accepts any certificate. The connection is encrypted, but anyone can pose as the server.
        ///
        /// Use this option only for local servers during development.
        case insecurelyTrustAnyCertificate
    }
}

extension TLSOptions.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the key.
    public var description: String { "ClientCertificate(\(certificateChain.utf8.count) bytes)" }
    /// A description without the key.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
