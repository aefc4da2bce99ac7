import PusherEncryption
import PusherServerAPI
import TestSupport
import TestTraits
import Testing

@Suite("The checks of the server API before a request", .limited)
struct CheckTests {
    typealias Call = @Sendable (PusherServerAPI) async throws -> Void

    private static let event = PusherServerAPI.Event("e", data: "{}")

    private static let calls: [(PusherServerAPIError.Code, String, Call)] = [
        (.invalidEventName, "it has 0 bytes", { try await $0.trigger(.init("", data: ""), on: "a") }),
        (
            .invalidEventName, "it has 201 bytes",
            { try await $0.trigger(.init(String(repeating: "e", count: 201), data: ""), on: "a") }
        ),
        (.invalidChannelName, "my channel", { try await $0.trigger(event, on: "my channel") }),
        (.invalidChannelName, "reserved", { try await $0.trigger(event, on: "#server-to-user-1") }),
        (.invalidChannelName, "201", { try await $0.trigger(event, on: String(repeating: "c", count: 201)) }),
        (.invalidChannelCount, "for 0 channels", { try await $0.trigger(event, on: [String]()) }),
        (.invalidChannelCount, "for 101 channels", { try await $0.trigger(event, on: (1...101).map { "c\($0)" }) }),
        (.invalidChannelCount, "encrypted channel", { try await $0.trigger(event, on: "a", "private-encrypted-b") }),
        (
            .dataTooLong, "10241 bytes",
            { try await $0.trigger(.init("e", data: .init(repeating: "d", count: 10_241)), on: "a") }
        ),
        (
            .dataTooLong, "after encryption",
            { try await $0.trigger(.init("e", data: .init(repeating: "d", count: 9_000)), on: "private-encrypted-a") }
        ),
        (.invalidSocketID, "1.x", { try await $0.trigger(.init("e", data: "", excluding: "1.x"), on: "a") }),
        (.invalidBatch, "it has 0 events", { try await $0.trigger([PusherServerAPI.BatchEvent]()) }),
        (
            .invalidBatch, "it has 11 events",
            { try await $0.trigger(Array(repeating: PusherServerAPI.BatchEvent(event, on: "a"), count: 11)) }
        ),
        (
            .invalidChannelName, "is not one of A-Z",
            { try await $0.trigger([.init(event, on: "a"), .init(event, on: "b/c")]) }
        ),
        (.invalidUser, "it has 0 bytes", { try await $0.send(event, toUser: "") }),
        (
            .invalidUser, "it has 129 bytes",
            { try await $0.terminateConnections(ofUser: .init(repeating: "u", count: 129)) }
        ),
        (.invalidChannelName, "a/b", { _ = try await $0.channel("a/b") }),
        (.invalidChannelName, "presence-", { _ = try await $0.users(on: "private-a") }),
        (.invalidChannelName, "public", { _ = try $0.authorizeChannel("a", socketID: "1.1") }),
        (.invalidSocketID, "123.456", { _ = try $0.authorizeChannel("private-a", socketID: "") }),
        (.invalidUser, "need a member", { _ = try $0.authorizeChannel("presence-a", socketID: "1.1") }),
        (
            .invalidUser, "user_id",
            { _ = try $0.authorizeChannel("presence-a", socketID: "1.1", member: .init(channelData: "{}")) }
        ),
        (.invalidUser, "JSON object", { _ = try $0.authenticateUser(.init(userData: "1"), socketID: "1.1") }),
        (.invalidUser, "no id", { _ = try $0.authenticateUser(.init(userData: #"{"id":1}"#), socketID: "1.1") }),
    ]

    @Test("an invalid name, id, size or number causes an error without a request", arguments: calls.indices)
    func refused(index: Int) async throws {
        let (code, text, call) = Self.calls[index]
        // Without libsodium, the size after the encryption is not known.
        guard SecretBox.isAvailable || text != "after encryption" else { return }
        let (api, requester) = try OfflineAPI.make()
        let error = try #require(await failure { try await call(api) })
        #expect(error.code == code)
        #expect(error.message.contains(text), "\(error.message)")
        #expect(requester.log.count == 0)
    }

    @Test(
        "an invalid cluster is named as the mistake",
        arguments: [("", "it is empty"), ("ws-eu.pusher.com", "has no dot")]
    )
    func clusters(cluster: String, why: String) {
        let error = #expect(throws: PusherServerAPIError.self) {
            try PusherServerAPI(
                application: .init(id: "1", key: "key", secret: "secret"),
                endpoint: .pusher(cluster: cluster)
            )
        }
        #expect(error?.code == .invalidOption)
        #expect(error?.message.hasPrefix("Invalid cluster \"\(cluster)\": ") == true)
        #expect(error?.message.contains(why) == true)
    }

    @Test("the library sends events at the limits for name, data, channels and batch")
    func allowed() async throws {
        let (api, requester) = try OfflineAPI.make()
        try await api.trigger(
            .init(.init(repeating: "e", count: 200), data: .init(repeating: "d", count: 10_240)),
            on: (1...100).map { "c\($0)" }
        )
        try await api.trigger(Array(repeating: .init(Self.event, on: "a"), count: 10))
        #expect(requester.log.count == 2)
    }

    @Test("with a larger limit in the options, the library sends larger data")
    func raisedLimits() async throws {
        let (api, requester) = try OfflineAPI.make { $0.limits.eventDataSize = 20_000 }
        try await api.trigger(.init("e", data: .init(repeating: "d", count: 20_000)), on: "a")
        #expect(requester.log.count == 1)
    }

    @Test("encrypted channels cause an error without a master key")
    func noKey() async throws {
        var application = OfflineAPI.application
        application.encryptionMasterKey = nil
        let (api, requester) = try OfflineAPI.make(application)
        #expect(
            await failure { try await api.trigger(Self.event, on: "private-encrypted-a") }?.code
                == .missingEncryptionKey
        )
        #expect(
            await failure { _ = try api.authorizeChannel("private-encrypted-a", socketID: "1.1") }?.code
                == .missingEncryptionKey
        )
        #expect(requester.log.count == 0)
    }

    @Test("an event for an encrypted channel causes a typed error in a build without libsodium", .needsNoSodium)
    func noSodium() async throws {
        let (api, requester) = try OfflineAPI.make()
        let error = await failure { try await api.trigger(Self.event, on: "private-encrypted-a") }
        #expect(error?.code == .encryptionUnavailable)
        #expect(try api.authorizeChannel("private-encrypted-a", socketID: "1.1").sharedSecret != nil)
        #expect(requester.log.count == 0)
    }

    @Test("a value that JSON cannot represent causes an error")
    func encoding() async throws {
        let error = await failure { _ = try PusherServerAPI.Event("e", json: Double.infinity) }
        #expect(error?.code == .encodingFailed)
    }

    @Test(
        "the initializer throws an error for an invalid application or endpoint",
        arguments: [
            (.init(id: "", key: "k", secret: "s"), .init(host: "localhost"), .invalidOption),
            (.init(id: "1/2", key: "k", secret: "s"), .init(host: "localhost"), .invalidOption),
            (.init(id: "1", key: "k&", secret: "s"), .init(host: "localhost"), .invalidOption),
            (.init(id: "1", key: "k", secret: ""), .init(host: "localhost"), .invalidOption),
            (.init(id: "1", key: "k", secret: "s"), .init(host: "https://localhost"), .invalidOption),
            (.init(id: "1", key: "k", secret: "s"), .init(host: "localhost", port: 0), .invalidOption),
            (.init(id: "1", key: "k", secret: "s"), .init(host: "localhost", path: "a b"), .invalidOption),
            (
                .init(id: "1", key: "k", secret: "s", encryptionMasterKey: "c2hvcnQ="), .init(host: "localhost"),
                .invalidEncryptionKey
            ),
        ] as [(PusherServerAPI.Application, PusherServerAPI.Endpoint, PusherServerAPIError.Code)]
    )
    func unusable(
        application: PusherServerAPI.Application,
        endpoint: PusherServerAPI.Endpoint,
        code: PusherServerAPIError.Code
    ) async {
        #expect(await failure { _ = try PusherServerAPI(application: application, endpoint: endpoint) }?.code == code)
    }

    @Test("descriptions contain no secret")
    func printed() throws {
        let (api, _) = try OfflineAPI.make()
        let secret = try api.authorizeChannel("private-encrypted-a", socketID: "1.1")
        let signature = try #require(secret.auth.split(separator: ":").last)
        let key = try #require(secret.sharedSecret)
        for value in [api, api.application, secret] as [Any] {
            for form in PrintedForms.of(value) {
                for hidden in [OfflineAPI.application.secret, String(signature), key, "AAECAwQF"] {
                    #expect(!form.contains(hidden), "\(form)")
                }
            }
        }
    }
}
