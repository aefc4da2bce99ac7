import Crypto
import Foundation
package import NIOSSL
import SwiftASN1
import X509

/// An authority made for one test, and a server's certificate from it.
package struct TestCertificates {
    /// The authority's certificate.
    package let rootPEM: String
    /// The server's certificate, and its private key.
    package let serverPEM: String
    package let serverKeyPEM: String
    /// The pin of its public key.
    package let serverPin: String
    /// A client's certificate from the same authority, and its private key.
    package let clientPEM: String
    package let clientKeyPEM: String

    /// The names are those of hosts or, in their four bytes, those of addresses.
    package init(hosts: [String] = ["localhost"], addresses: [[UInt8]] = [[127, 0, 0, 1]], isExpired: Bool = false)
        throws
    {
        let now = Date()
        let day: TimeInterval = 86_400
        let authorityKey = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let authorityName = try DistinguishedName { CommonName("Authority \(UUID().uuidString)") }
        let authority = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: authorityKey.publicKey,
            notValidBefore: now - 30 * day,
            notValidAfter: now + 30 * day,
            issuer: authorityName,
            subject: authorityName,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            },
            issuerPrivateKey: authorityKey
        )
        let serverKey = P256.Signing.PrivateKey()
        let names: [GeneralName] =
            hosts.map { .dnsName($0) } + addresses.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) }
        let server = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PrivateKey(serverKey).publicKey,
            notValidBefore: now - 20 * day,
            notValidAfter: isExpired ? now - 10 * day : now + 20 * day,
            issuer: authorityName,
            subject: DistinguishedName { CommonName("server") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                SubjectAlternativeNames(names)
                try ExtendedKeyUsage([.serverAuth])
            },
            issuerPrivateKey: authorityKey
        )
        self.rootPEM = try authority.serializeAsPEM().pemString
        self.serverPEM = try server.serializeAsPEM().pemString
        self.serverKeyPEM = serverKey.pemRepresentation
        let digest = Crypto.SHA256.hash(data: serverKey.publicKey.derRepresentation)
        self.serverPin = Data(digest).base64EncodedString()

        let clientKey = P256.Signing.PrivateKey()
        let client = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PrivateKey(clientKey).publicKey,
            notValidBefore: now - 20 * day,
            notValidAfter: now + 20 * day,
            issuer: authorityName,
            subject: DistinguishedName { CommonName("client") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                try ExtendedKeyUsage([.clientAuth])
            },
            issuerPrivateKey: authorityKey
        )
        self.clientPEM = try client.serializeAsPEM().pemString
        self.clientKeyPEM = clientKey.pemRepresentation
    }

    /// For a server that shows the certificate.
    package var serverContext: NIOSSLContext {
        get throws { try NIOSSLContext(configuration: serverConfiguration) }
    }

    /// For a server that takes nobody in without a certificate of the authority's.
    package var demandingServerContext: NIOSSLContext {
        get throws {
            var configuration = try serverConfiguration
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(rootPEM.utf8)))
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
