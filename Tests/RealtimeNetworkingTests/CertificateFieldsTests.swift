import NIOSSL
import TestSupport
import TestTLS
import TestTraits
import Testing

@testable import RealtimeNetworking

@Suite("The fields of a certificate", .limited)
struct CertificateFieldsTests {
    @Test("the parser reads issuer, subject and purpose")
    func fields() throws {
        let root = try fields(TestChain(.direct).rootPEM)
        #expect(root.issuer == root.subject)
        #expect(root.issuerName?.hasPrefix("root ") == true)
        #expect(root.isForServers)
        let server = try fields(TestChain(.direct).chainPEM)
        #expect(server.issuer != server.subject)
        #expect(server.isForServers)
        #expect(try !fields(TestChain(.forClients).chainPEM).isForServers)
    }

    @Test("an asterisk matches only as the first label, and names match regardless of case")
    func names() throws {
        var server = try fields(TestChain(.direct).chainPEM)
        #expect(server.hostNames == ["localhost"])
        #expect(try fields(TestChain(.addressOnly).chainPEM).hostNames == [])
        #expect(try fields(TestChain(.direct).rootPEM).hostNames == nil)
        server.hostNames = ["ws.example.com", "*.example.org", "f*.example.net", "*"]
        for host in ["ws.example.com", "WS.Example.COM", "a.example.org"] { #expect(server.isFor(host: host)) }
        let others = [
            "example.com", "a.ws.example.com", "example.org", "a.b.example.org", "foo.example.net", "localhost", "",
            "127.0.0.1",
        ]
        for host in others { #expect(!server.isFor(host: host), "\(host)") }
    }

    @Test("the parser does not crash on a truncated or damaged certificate")
    func damaged() throws {
        let bytes = try der(TestChain(.withIntermediate).chainPEM)
        for length in bytes.indices { #expect(CertificateFields(der: Array(bytes.prefix(length))) == nil) }
        var generator = SeededGenerator(seed: 1)
        for index in bytes.indices {
            for byte in [0, 0x7F, 0x80, 0x83, 0xFF, UInt8.random(in: 0...255, using: &generator)] {
                var changed = bytes
                changed[index] = byte
                let name = CertificateFields(der: changed)?.issuerName ?? ""
                #expect(name.count <= 64 && !name.contains { $0.isNewline || $0 == "'" })
            }
        }
    }

    private func der(_ pem: String) throws -> [UInt8] {
        try #require(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).first).toDERBytes()
    }

    private func fields(_ pem: String) throws -> CertificateFields {
        try #require(CertificateFields(der: try der(pem)))
    }
}
