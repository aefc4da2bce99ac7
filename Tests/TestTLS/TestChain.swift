/// A server's certificate chain, and the authority that the client trusts.
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

    package init(_ kind: Kind) {
        self.kind = kind
        rootPEM = StoredCertificates.chainRoot
        chainPEM = StoredCertificates.chains[kind] ?? ""
        keyPEM = StoredCertificates.chainKey
    }
}
