import Foundation
import PusherClient
import PusherTestServer
import TestTraits
import Testing

@testable import pusher

@Suite("The console's snippets", .limited)
struct ConsoleSnippetTests {
    /// A copy of the snippet for Swift, which the compiler checks.
    private func program() async throws {
        let endpoint = PusherEndpoint(host: "127.0.0.1", port: 6123, useTLS: false)
        let options = PusherClientOptions(endpoint: endpoint)
        options.authMethod = .endpoint("http://127.0.0.1:6123/pusher/auth")
        let pusher = Pusher(key: "a-key", options: options)
        let events = pusher.subscribe("orders").events(named: "created")
        try await pusher.connected()
        for await event in events { print(event.data ?? "") }
    }

    private func snippets(secret: String = "s") -> [String: String] {
        var options = PusherTestServer.Options()
        options.application = .init(id: "7", key: "a-key", secret: secret)
        options.port = 6123
        let snippets = ConsoleSnippet.all(for: PusherTestServer(options: options))
        return Dictionary(uniqueKeysWithValues: snippets.map { ($0.name, $0.text) })
    }

    @Test("the snippet for Swift compiles")
    func swift() throws {
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        let text = try #require(snippets()["Swift"])
        for line in text.split(separator: "\n") {
            #expect(source.contains(line.trimmingCharacters(in: .whitespaces)), "\(line)")
        }
    }

    @Test("each snippet contains host, port and key, and the backend's snippet contains the secrets")
    func values() throws {
        let snippets = snippets(secret: #"a "secret" \ of mine"#)
        #expect(snippets.count == 3)
        for text in snippets.values {
            #expect(text.contains("127.0.0.1") && text.contains("6123") && text.contains(#""a-key""#))
        }
        let laravel = try #require(snippets["Laravel"])
        #expect(laravel.contains(#"PUSHER_APP_SECRET="a \"secret\" \\ of mine""#))
        let masterKey = PusherTestServer.Options.testEncryptionMasterKey
        #expect(laravel.contains("\nPUSHER_ENCRYPTION_MASTER_KEY=\"\(masterKey)\"\n"))
        #expect(snippets.filter { $0.value.contains("secret") }.keys.sorted() == ["Laravel"])
    }
}
