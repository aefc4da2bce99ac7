import NIOEmbedded
import PusherEncryption
import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Encrypted channels", .limited, .needsSodium)
struct EncryptionTests {
    private struct Setup {
        let loop = EmbeddedEventLoop()
        let network: InMemoryServer
        var server: PusherTestServer { network.server }

        init(_ change: (inout Options) -> Void = { _ in }) {
            var options = Options()
            options.socketIDPrefix = 7
            change(&options)
            network = InMemoryServer(eventLoop: loop, options: options)
        }

        /// Returns the messages that a client of these channels receives while `body` runs.
        func messages(on channels: [String], _ body: () throws -> Void) throws -> [Envelope] {
            let link = network.open(Request(target: "/app/app-key"), on: loop) { _ in }
            defer {
                link.abort()
                loop.run()
            }
            loop.run()
            for channel in channels {
                let signed = server.authorization(forSocket: "7.1", channel: channel)
                link.send(Envelope.subscribe(channel: channel, auth: signed.auth).jsonText)
            }
            loop.run()
            let start = server.records.count
            try body()
            loop.run()
            return try server.records.dropFirst(start).compactMap { record in
                guard case .messageSent(let text) = record.event else { return nil }
                return try Envelope(decoding: text)
            }
        }

        func key(_ channel: String) -> SecretKey? {
            server.authorization(forSocket: "1.1", channel: channel).sharedSecret.flatMap { SecretKey(base64: $0) }
        }
    }

    private static let channel = "private-encrypted-x"

    @Test("publish encrypts data with the key of each encrypted channel, and does not change other data")
    func publishing() throws {
        let setup = Setup()
        let channels = ["plain", Self.channel, "private-encrypted-cache-y"]
        let data = #"{"é":"🚀"}"#
        let messages = try setup.messages(on: channels) {
            try setup.server.publish(event: "e", data: data, to: "plain", Self.channel, "private-encrypted-cache-y")
        }
        #expect(Set(messages.compactMap(\.channel)) == Set(channels))
        for message in messages {
            guard let channel = message.channel, channel != "plain" else {
                #expect(message.data == .string(data))
                continue
            }
            let key = try #require(setup.key(channel))
            #expect(try EncryptedEvent.open(message.data, with: key) == data)
        }
    }

    @Test("publishRequest encrypts data as a backend's library does, and the server relays it unchanged")
    func publishRequest() throws {
        let setup = Setup()
        let signed = setup.server.publishRequest(event: "e", data: "{}", to: [Self.channel])
        let body = try #require(JSONMembers(parsing: signed.body)?.value("data")?.string)
        #expect(try EncryptedEvent.open(.string(body), with: try #require(setup.key(Self.channel))) == "{}")
        let raw = SignedRESTRequest(
            method: "POST",
            path: "/apps/1/events",
            body: #"{"name":"e","channel":"private-encrypted-x","data":"as it is"}"#,
            application: setup.server.options.application,
            timestamp: 1_700_000_000
        )
        let messages = try setup.messages(on: [Self.channel]) {
            let request = Request(method: "POST", target: raw.pathAndQuery, body: Array(raw.body.utf8))
            setup.network.request(request) { _ in }
        }
        #expect(messages.map(\.data) == [.string("as it is")])
        let plain = setup.server.publishRequest(event: "e", data: "{}", to: ["x"])
        #expect(JSONMembers(parsing: plain.body)?.value("data") == "{}")
    }

    @Test("after a key rotation, only the key in new authorizations decrypts events")
    func rotation() throws {
        let setup = Setup()
        let old = try #require(setup.key(Self.channel))
        let messages = try setup.messages(on: [Self.channel]) {
            setup.server.rotateEncryptionKey()
            try setup.server.publish(event: "e", data: "1", to: Self.channel)
        }
        let new = try #require(setup.key(Self.channel))
        #expect(old != new)
        let data = try #require(messages.first).data
        #expect(throws: EncryptedEvent.Failure.wrongKey) { try EncryptedEvent.open(data, with: old) }
        #expect(try EncryptedEvent.open(data, with: new) == "1")
    }

    @Test("a cached event stays encrypted with its original key")
    func cache() throws {
        let setup = Setup()
        let channel = "private-encrypted-cache-x"
        let old = try #require(setup.key(channel))
        try setup.server.publish(event: "e", data: "1", to: channel)
        setup.server.rotateEncryptionKey()
        let messages = try setup.messages(on: [channel]) {
            setup.server.closeConnections()
        }
        #expect(messages.isEmpty)
        let replayed = setup.server.records.compactMap { record -> Envelope? in
            guard case .messageSent(let text) = record.event else { return nil }
            return try? Envelope(decoding: text)
        }.last
        #expect(try EncryptedEvent.open(try #require(replayed).data, with: old) == "1")
    }

    @Test(
        "start and publish throw an error for an invalid master key",
        arguments: ["", "x", "AAECAw==", "not base64!"]
    )
    func invalidKey(key: String) async throws {
        var options = Options()
        options.encryptionMasterKey = key
        let server = PusherTestServer(options: options)
        let error = await #expect(throws: PusherTestServer.ServerError.self) { try await server.start() }
        #expect(error?.code == .invalidEncryptionKey)
        let other = #expect(throws: PusherTestServer.ServerError.self) {
            try server.publish(event: "e", data: "1", to: Self.channel)
        }
        #expect(other?.code == .invalidEncryptionKey)
        #expect(server.authorization(forSocket: "1.1", channel: Self.channel).sharedSecret == nil)
    }
}

@Suite("A test server without libsodium", .limited, .needsNoSodium)
struct ServerWithoutSodiumTests {
    @Test("publishing on an encrypted channel is a typed error, and keys still come with authorizations")
    func typedError() throws {
        let server = InMemoryServer(eventLoop: EmbeddedEventLoop()).server
        let error = #expect(throws: PusherTestServer.ServerError.self) {
            try server.publish(event: "created", data: "{}", to: "private-encrypted-a")
        }
        #expect(error?.code == .encryptionUnavailable)
        #expect(server.authorization(forSocket: "7.1", channel: "private-encrypted-a").sharedSecret != nil)
    }
}
