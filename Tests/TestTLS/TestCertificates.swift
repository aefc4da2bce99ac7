import Crypto
import Foundation
package import NIOSSL
import SwiftASN1
import X509

/// The certificates of one test: an authority, a server and a client.
package struct TestCertificates {
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

    /// Creates an authority, a client certificate, and a server certificate for the given names and IPv4 addresses.
    /// Each address has four bytes.
    package init(hosts: [String] = ["localhost"], addresses: [[UInt8]] = [[127, 0, 0, 1]], isExpired: Bool = false)
        throws
    {
        let authority = try Issuer("authority")
        var server = CertificateRequest(key: P256.Signing.PrivateKey())
        (server.hosts, server.addresses) = (hosts, addresses)
        if isExpired { server.days = -20 ... -10 }
        var client = CertificateRequest(key: P256.Signing.PrivateKey())
        client.isForClients = true
        self.rootPEM = try authority.certificate.serializeAsPEM().pemString
        self.serverPEM = try authority.issue(server, for: "server")
        self.serverKeyPEM = server.key.pemRepresentation
        let digest = Crypto.SHA256.hash(data: server.key.publicKey.derRepresentation)
        self.serverPin = Data(digest).base64EncodedString()
        self.clientPEM = try authority.issue(client, for: "client")
        self.clientKeyPEM = client.key.pemRepresentation
    }

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
