import PusherProtocol
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// PusherSwift's tests of encrypted channels, with PusherSwift's keys and events.
@Suite("PusherSwift: encrypted channels", .limited, .needsSodium)
struct PusherSwiftEncryptionTests {
    private static let name = "private-encrypted-channel"
    private static let event =
        #"{"nonce":"4sVYwy4j/8dCcjyxtPCWyk19GaaViaW9","#
        + #""ciphertext":"/GMESnFGlbNn01BuBjp31XYa3i9vZsGKR8fgR9EDhXKx3lzGiUD501A="}"#
    private static let key = "iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb+z5doo="
    private static let wrongKey = "iBvNoPVYwByqSfg6anjPpEQ2j051b3rt1Vmnb+z5do0="

    let world = VirtualWorld()
    let delegate = RecordingDelegate()
    let decrypted = Log<String>()

    /// An authorizer that returns its keys one after the other, and then always the last key.
    private struct Keyring: Authorizer {
        let server: PusherTestServer
        let keys: [String]
        let asked = Log<String>()

        func fetchAuthValue(
            socketID: String,
            channelName: String,
            completionHandler: @escaping @Sendable (PusherAuth?) -> Void
        ) {
            asked.append(channelName)
            let signed = server.authorization(forSocket: socketID, channel: channelName)
            completionHandler(PusherAuth(auth: signed.auth, sharedSecret: keys[min(asked.count, keys.count) - 1]))
        }
    }

    private func subscribe(_ name: String, _ method: AuthMethod) async throws -> PusherChannel {
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: method))
        pusher.delegate = delegate
        let channel = pusher.subscribe(name)
        channel.bind(eventName: "my-event") { [decrypted] in decrypted.append($0.data ?? "-") }
        await world.runUntil { channel.subscribed }
        return channel
    }

    /// Sends an event, and waits until the client has decrypted the event, or has reported the event as undecryptable.
    private func send(_ data: String, to name: String = name) async {
        let count = decrypted.count + delegate.undecryptable.count
        world.server.sendEvent("my-event", data: data, channel: name)
        await world.runUntil { decrypted.count + delegate.undecryptable.count > count }
    }

    @Test(
        "the client requests one other key for an event that it cannot decrypt, and reports the event if that key fails",
        arguments: [
            ([key], 1, 1, 1), ([wrongKey, key], 1, 1, 2), ([wrongKey], 1, 0, 2), ([wrongKey, wrongKey, key], 2, 1, 3),
            ([wrongKey], 2, 0, 3),
        ] as [([String], Int, Int, Int)]
    )
    func keys(keys: [String], events: Int, readable: Int, asked: Int) async throws {
        let keyring = Keyring(server: world.server, keys: keys)
        _ = try await subscribe(Self.name, .authorizer(authorizer: keyring))
        for _ in 1...events { await send(Self.event) }
        #expect(decrypted.elements == Array(repeating: #"{"message":"hello world"}"#, count: readable))
        #expect(
            delegate.undecryptable.elements == Array(repeating: "\(Self.name) my-event", count: events - readable)
        )
        #expect(keyring.asked.count == asked)
    }

    @Test("an event that no key can decrypt does not affect another channel")
    func otherChannel() async throws {
        let other = "private-encrypted-other"
        let wrong = Keyring(server: world.server, keys: [Self.wrongKey])
        let right = Keyring(server: world.server, keys: [Self.key])
        _ = try await subscribe(Self.name, .authorizer(authorizer: wrong))
        _ = try await subscribe(other, .authorizer(authorizer: right))
        for name in [Self.name, other] { world.server.sendEvent("my-event", data: Self.event, channel: name) }
        await world.runUntil { decrypted.count + delegate.undecryptable.count == 2 }
        #expect(decrypted.elements == [#"{"message":"hello world"}"#])
        #expect(delegate.undecryptable.elements == ["\(Self.name) my-event"])
        #expect(wrong.asked.count == 2)
        #expect(right.asked.count == 1)
    }

    @Test(
        "the client gets the first and later keys from an endpoint or a builder's request",
        arguments: [true, false],
        [true, false]
    )
    func requests(isBuilt: Bool, isWrongAtFirst: Bool) async throws {
        if isWrongAtFirst { world.server.failAuthorizations(1, with: .wrongSharedSecret) }
        let channel = try await subscribe(
            Self.name,
            isBuilt
                ? RequestBuilderTests.method(url: VirtualWorld.authEndpoint)
                : .endpoint(authEndpoint: VirtualWorld.authEndpoint)
        )
        try world.server.publish(event: "my-event", data: #"{"message":"hello world"}"#, to: channel.name)
        await world.runUntil { decrypted.count == 1 }
        #expect(decrypted.elements == [#"{"message":"hello world"}"#])
        #expect(world.server.authorizationRequests.count == (isWrongAtFirst ? 2 : 1))
        #expect(delegate.undecryptable.elements.isEmpty)
    }

    @Test("the client uses a key that the app passes with an authorization")
    func handedOver() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .noMethod))
        let socketID = try #require(pusher.connection.socketId)
        let signed = world.server.authorization(forSocket: socketID, channel: Self.name)
        let channel = pusher.subscribe(Self.name, auth: PusherAuth(auth: signed.auth, sharedSecret: Self.key))
        channel.bind(eventName: "my-event") { [decrypted] in decrypted.append($0.data ?? "-") }
        await world.runUntil { channel.subscribed }
        await send(Self.event)
        #expect(decrypted.elements == [#"{"message":"hello world"}"#])
    }

    @Test(
        "the client does not change unencrypted data of other channels and of protocol events",
        arguments: ["private-channel", name],
        [#"{"message":"hello"}"#, event]
    )
    func unaltered(name: String, data: String) async throws {
        let keyring = Keyring(server: world.server, keys: [Self.key])
        let channel = try await subscribe(name, .authorizer(authorizer: keyring))
        let events = Log<String>()
        channel.bind { events.append("\($0.eventName) \($0.data ?? "-")") }
        let event = name == Self.name ? "pusher:event" : "my-event"
        world.server.sendEvent(event, data: data, channel: name)
        await world.run()
        #expect(events.elements == ["\(event) \(data)"])
        #expect(keyring.asked.count == 1)
    }

    @Test(
        "the client requests another key for an event only if another key might decrypt the event",
        arguments: [
            (#"{"message":"hello"}"#, false), (#"{"ciphertext":"ig9HfL7OKJ9TL97WFRG0xpuk9w0DXUJhLQ=="}"#, false),
            (#"{"nonce":"Ew2lLeGzSefk8fyVPbwL1yV+8HMyIBrm"}"#, false),
            // The key does not decrypt this ciphertext with this nonce.
            (
                #"{"nonce":"00000000000000000000000000000000","#
                    + #""ciphertext":"/GMESnFGlbNn01BuBjp31XYa3i9vZsGKR8fgR9EDhXKx3lzGiUD501A="}"#, true
            ),
            (
                #"{"nonce":"4sVYwy4j/8dCcjyxtPCWyk19GaaViaW9","ciphertext":""#
                    + String(repeating: "0", count: 68) + #""}"#, true
            ),
            (
                #"{"nonce":"Ew2lLeGzSefk8fyVPbwL1yV+8HMyIBrm","#
                    + #""ciphertext":"ig9HfL7OKJ9TL97WFRG0xpuk9w0DXUJhLQlQbGf+ID9S3h15vb/fgDfsnsGxQNQDxw+i"}"#, true
            ),
        ]
    )
    func undecryptable(data: String, isKeyInDoubt: Bool) async throws {
        let keyring = Keyring(server: world.server, keys: [Self.key])
        _ = try await subscribe(Self.name, .authorizer(authorizer: keyring))
        await send(data)
        #expect(delegate.undecryptable.elements == ["\(Self.name) my-event"])
        #expect(decrypted.elements.isEmpty)
        #expect(keyring.asked.count == (isKeyInDoubt ? 2 : 1))
        await send(Self.event)
        #expect(decrypted.elements == [#"{"message":"hello world"}"#])
    }

    @Test(
        "with an unusable key, the client requests another key for an event, and reports an event that it cannot decrypt",
        arguments: [(event, true), (#"{"message":"hello"}"#, false)]
    )
    func withoutKey(data: String, isReadable: Bool) async throws {
        // The first key is invalid, because it has 33 bytes.
        let keyring = Keyring(server: world.server, keys: [String(repeating: "0", count: 44), Self.key])
        let channel = try await subscribe(Self.name, .authorizer(authorizer: keyring))
        #expect(channel.subscribed && keyring.asked.count == 1)
        await send(data)
        #expect(keyring.asked.count == 2)
        #expect(decrypted.elements == (isReadable ? [#"{"message":"hello world"}"#] : []))
        #expect(delegate.undecryptable.elements == (isReadable ? [] : ["\(Self.name) my-event"]))
    }
}
