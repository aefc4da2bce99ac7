import Crypto
import Foundation
import SwiftASN1
import X509

/// The contents of a certificate.
struct CertificateRequest {
    var key: P256.Signing.PrivateKey
    var hosts = ["localhost"]
    var addresses: [[UInt8]] = [[127, 0, 0, 1]]
    /// The first and the last day of validity, relative to today.
    var days = -20...20
    var isAuthority = false
    var isForClients = false

    init(key: P256.Signing.PrivateKey) { self.key = key }
}

/// An authority, or a server that claims to be an authority.
struct Issuer {
    var name: DistinguishedName
    var key: P256.Signing.PrivateKey
    var certificate: Certificate

    init(name: DistinguishedName, key: P256.Signing.PrivateKey, certificate: Certificate) {
        self.name = name
        self.key = key
        self.certificate = certificate
    }

    /// Creates an authority that signs its own certificate.
    init(_ commonName: String, key: P256.Signing.PrivateKey = .init()) throws {
        let name = try DistinguishedName { CommonName("\(commonName) \(UUID().uuidString)") }
        var request = CertificateRequest(key: key)
        (request.hosts, request.addresses, request.isAuthority) = ([], [], true)
        let certificate = try Self.issue(request, for: name, by: name, signedWith: key)
        self.init(name: name, key: key, certificate: certificate)
    }

    func issue(_ request: CertificateRequest, for subject: DistinguishedName) throws -> Certificate {
        try Self.issue(request, for: subject, by: name, signedWith: key)
    }

    /// Returns the certificate as PEM.
    func issue(_ request: CertificateRequest, for commonName: String) throws -> String {
        try issue(request, for: DistinguishedName { CommonName(commonName) }).serializeAsPEM().pemString
    }

    private static func issue(
        _ request: CertificateRequest,
        for subject: DistinguishedName,
        by issuer: DistinguishedName,
        signedWith key: P256.Signing.PrivateKey
    ) throws -> Certificate {
        let now = Date()
        let day: TimeInterval = 86_400
        let names: [GeneralName] =
            request.hosts.map { .dnsName($0) }
            + request.addresses.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) }
        return try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PrivateKey(request.key).publicKey,
            notValidBefore: now + Double(request.days.lowerBound) * day,
            notValidAfter: now + Double(request.days.upperBound) * day,
            issuer: issuer,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try extensions(request, names),
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
    }

    private static func extensions(
        _ request: CertificateRequest,
        _ names: [GeneralName]
    ) throws -> Certificate.Extensions {
        try Certificate.Extensions {
            if request.isAuthority {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            }
            if !names.isEmpty {
                SubjectAlternativeNames(names)
                try ExtendedKeyUsage([request.isForClients ? .clientAuth : .serverAuth])
            }
        }
    }
}
