import Crypto
import Foundation
import SwiftASN1
import X509

/// A server's certificate chain for one test, and the authority that the client trusts.
package struct TestChain: Sendable {
    /// The defect of the chain, if it has one.
    package enum Kind: String, CaseIterable, Sendable {
        /// The certificate is from the trusted authority, for `localhost` and `127.0.0.1`.
        case direct
        /// The certificate is from an intermediate authority. The chain includes the intermediate certificate, which
        /// the trusted authority has signed.
        case withIntermediate
        /// The certificate is valid for the address only.
        case addressOnly
        /// The certificate is valid for the name only.
        case nameOnly

        case expired
        case notYetValid
        /// The certificate is for another name and another address.
        case otherHost
        case selfSigned
        /// The certificate is from an untrusted authority, whose certificate is included.
        case unknownRoot
        /// The intermediate certificate is missing.
        case missingIntermediate
        /// The included intermediate certificate is not the certificate of the issuer.
        case wrongIntermediate
        case expiredIntermediate
        /// The certificate is signed with the key of an ordinary server, whose valid certificate is included.
        case serverAsAuthority
        /// The intermediate certificate is not marked as an authority.
        case intermediateWithoutFlag
        /// The certificate names the trusted authority as its issuer, but is signed with another key.
        case forgedIssuer
        /// The certificate is for clients, not for servers.
        case forClients
    }

    package let kind: Kind
    /// The trusted authority's certificate.
    package let rootPEM: String
    /// The server's certificate, and the chain that the server sends.
    package let chainPEM: String
    package let keyPEM: String

    package init(_ kind: Kind) throws {
        let root = try Issuer("root")
        let key = P256.Signing.PrivateKey()
        var leaf = CertificateRequest(key: key)
        var issuer = root
        var between: [Certificate] = []
        switch kind {
        case .direct: break
        case .addressOnly: leaf.hosts = []
        case .nameOnly: leaf.addresses = []
        case .expired: leaf.days = -20 ... -10
        case .notYetValid: leaf.days = 10...20
        case .otherHost: (leaf.hosts, leaf.addresses) = (["example.com"], [[127, 0, 0, 2]])
        case .selfSigned: issuer = try Issuer("server", key: key)
        case .unknownRoot:
            issuer = try Issuer("unknown root")
            between = [issuer.certificate]
        case .forClients: leaf.isForClients = true
        case .forgedIssuer:
            issuer = Issuer(name: root.name, key: P256.Signing.PrivateKey(), certificate: root.certificate)
        case .withIntermediate, .missingIntermediate, .wrongIntermediate, .expiredIntermediate, .serverAsAuthority,
            .intermediateWithoutFlag:
            issuer = try Self.intermediate(kind, from: root)
            if kind == .wrongIntermediate {
                between = [try Self.intermediate(.withIntermediate, from: root).certificate]
            } else if kind != .missingIntermediate {
                between = [issuer.certificate]
            }
        }
        let subject = try DistinguishedName { CommonName("server") }
        let certificate = try issuer.issue(leaf, for: kind == .selfSigned ? issuer.name : subject)
        self.kind = kind
        self.rootPEM = try root.certificate.serializeAsPEM().pemString
        self.chainPEM = try ([certificate] + between).map { try $0.serializeAsPEM().pemString }.joined(separator: "\n")
        self.keyPEM = key.pemRepresentation
    }

    private static func intermediate(_ kind: Kind, from root: Issuer) throws -> Issuer {
        let key = P256.Signing.PrivateKey()
        var request = CertificateRequest(key: key)
        request.isAuthority = kind != .serverAsAuthority && kind != .intermediateWithoutFlag
        if kind != .serverAsAuthority { (request.hosts, request.addresses) = ([], []) }
        if kind == .expiredIntermediate { request.days = -20 ... -10 }
        let name = try DistinguishedName { CommonName("intermediate \(UUID().uuidString)") }
        return Issuer(name: name, key: key, certificate: try root.issue(request, for: name))
    }
}
