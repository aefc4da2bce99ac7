package import NIOSSL

/// An authority, and the certificates of a server and a client.
package struct TestCertificates: Sendable {
    /// What the server's certificate is for.
    package enum Server: Sendable {
        /// `localhost` and 127.0.0.1.
        case localhost
        /// As ``localhost``, but expired.
        case expired
        /// `example.com`.
        case example
        /// `example.com` and 127.0.0.2.
        case exampleWithAddress
        /// As ``example``, but expired.
        case expiredExample
        /// `localhost`, `right.test` and 127.0.0.1.
        case rightAndLocalhost
        /// `ws.example.test`.
        case proxied
        /// `other.test`.
        case other
    }

    /// The authority's certificate.
    package let rootPEM: String
    /// The server's certificate, and its private key.
    package let serverPEM: String
    package let serverKeyPEM: String
    /// The pin of the server's public key.
    package let serverPin: String
    /// A client's certificate from the same authority, and its private key.
    package let clientPEM: String
    package let clientKeyPEM: String

    package init(_ server: Server = .localhost) {
        rootPEM = StoredCertificates.firstRoot
        serverPEM =
            switch server {
            case .localhost: StoredCertificates.firstLocalhost
            case .expired: StoredCertificates.firstExpired
            case .example: StoredCertificates.firstExample
            case .exampleWithAddress: StoredCertificates.firstExampleWithAddress
            case .expiredExample: StoredCertificates.firstExpiredExample
            case .rightAndLocalhost: StoredCertificates.firstRightAndLocalhost
            case .proxied: StoredCertificates.firstProxied
            case .other: StoredCertificates.firstOther
            }
        serverKeyPEM = StoredCertificates.firstKey
        serverPin = StoredCertificates.firstPin
        clientPEM = StoredCertificates.firstClient
        clientKeyPEM = StoredCertificates.firstClientKey
    }

    private init(second: Void) {
        rootPEM = StoredCertificates.secondRoot
        serverPEM = StoredCertificates.secondLocalhost
        serverKeyPEM = StoredCertificates.secondKey
        serverPin = StoredCertificates.secondPin
        clientPEM = StoredCertificates.secondClient
        clientKeyPEM = StoredCertificates.secondClientKey
    }

    /// The certificates of another authority, for `localhost` and 127.0.0.1. The keys are different too.
    package static let ofAnotherAuthority = TestCertificates(second: ())

    /// The TLS context of a server that has the server certificate.
    package var serverContext: NIOSSLContext {
        get throws { try NIOSSLContext(configuration: serverConfiguration) }
    }

    /// The TLS context of a server that requires a client certificate from the authority.
    package var demandingServerContext: NIOSSLContext {
        get throws {
            var configuration = try serverConfiguration
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(rootPEM.utf8)))
            return try NIOSSLContext(configuration: configuration)
        }
    }

    /// The TLS context of a server that prefers HTTP/2.
    package var http2ServerContext: NIOSSLContext {
        get throws {
            var configuration = try serverConfiguration
            configuration.applicationProtocols = ["h2", "http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        }
    }

    private var serverConfiguration: TLSConfiguration {
        get throws {
            try .makeServerConfiguration(
                certificateChain: NIOSSLCertificate.fromPEMBytes(Array(serverPEM.utf8)).map { .certificate($0) },
                privateKey: .privateKey(NIOSSLPrivateKey(bytes: Array(serverKeyPEM.utf8), format: .pem))
            )
        }
    }
}
