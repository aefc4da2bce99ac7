import Crypto
import Foundation
import SwiftASN1
import X509

@testable import PusherTestServer

/// A certificate for localhost that signs itself.
struct TestCertificate {
    let certificatePEM: String
    let tls: PusherTestServer.TLS

    init() throws {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName("localhost") }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date() - 3_600,
            notValidAfter: Date() + 3_600,
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                SubjectAlternativeNames([.dnsName("localhost")])
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        certificatePEM = try certificate.serializeAsPEM().pemString
        tls = PusherTestServer.TLS(certificateChain: certificatePEM, privateKey: key.pemRepresentation)
    }
}
