/// How a server proves its identity, for connections over TLS (1.2 and later).
public struct TLSOptions: Hashable, Sendable {
    /// The authorities whose certificates are accepted. Default: ``TrustRoots-swift.enum/system``.
    public var trustRoots: TrustRoots

    /// What is checked of the server's certificate. Default: ``CertificateVerification-swift.enum/full``.
    public var certificateVerification: CertificateVerification

    /// Makes options; what is left out has its default.
    public init(
        trustRoots: TrustRoots = .system,
        certificateVerification: CertificateVerification = .full
    ) {
        self.trustRoots = trustRoots
        self.certificateVerification = certificateVerification
    }

    /// Authorities whose certificates are accepted.
    public enum TrustRoots: Hashable, Sendable {
        /// Those that the operating system trusts.
        case system

        /// Those that the operating system trusts, and the certificates in this PEM text.
        case systemAnd(pem: String)

        /// The certificates in this PEM text and no others.
        case only(pem: String)
    }

    /// What is checked of a server's certificate.
    public enum CertificateVerification: Hashable, Sendable {
        /// Its chain to a trusted authority, its dates, and that it is for the host connected to: for its name, or for
        /// the address that was connected to.
        case full

        /// Its chain to a trusted authority and its dates, but not which host it is for.
        ///
        /// Whoever has a certificate from one of the ``TLSOptions/trustRoots`` can pose as the server. Use it together
        /// with ``TrustRoots-swift.enum/only(pem:)`` and an authority of your own.
        case noHostnameVerification

        /// Nothing: any certificate is accepted, so that the connection is encrypted but may be with anybody.
        ///
        /// For local servers while developing, and for nothing else.
        case insecurelyTrustAnyCertificate
    }
}
