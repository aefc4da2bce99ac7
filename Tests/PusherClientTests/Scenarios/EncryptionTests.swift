import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Encrypted channels", .limited, .needsSodium, .overEachTransport)
struct EncryptionTests {
    let world = VirtualWorld()

    @Test("the client decrypts an event, which is not readable on the wire")
    func decrypted() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("private-encrypted-orders")
        await world.runUntil { channel.subscribed }
        let events = Log<PusherEvent>()
        channel.bind(eventName: "created") { events.append($0) }
        try world.server.publish(event: "created", data: #"{"item":"green tea"}"#, to: channel.name)
        await world.run()
        #expect(events.elements.map(\.data) == [#"{"item":"green tea"}"#])
        #expect(events.elements.first?.property(withKey: "data") as? String == #"{"item":"green tea"}"#)
        let sent = world.server.records.compactMap { record -> String? in
            if case .messageSent(let text) = record.event { text } else { nil }
        }
        // The data contains a space, so the data cannot be part of base64.
        #expect(!sent.contains { $0.contains("green tea") })
        #expect(sent.contains { $0.contains("ciphertext") })
    }

    @Test("the client requests a rotated key once, and keeps the order of events (pusher-js)")
    func rotation() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("private-encrypted-orders")
        let plain = pusher.subscribe("orders")
        await world.runUntil { channel.subscribed && plain.subscribed }
        let events = Log<String>()
        channel.bind(eventName: "created") { events.append($0.data ?? "") }
        plain.bind(eventName: "created") { events.append($0.data ?? "") }
        world.server.failAuthorizations(1, with: .delayed(.seconds(2)))
        world.server.rotateEncryptionKey()
        for id in 1...3 { try world.server.publish(event: "created", data: "\(id)", to: channel.name) }
        try world.server.publish(event: "created", data: "not held", to: plain.name)
        await world.runUntil { world.server.authorizationRequests.count == 2 }
        #expect(events.elements == ["not held"])
        await world.advance(by: .seconds(2))
        await world.runUntil { events.count == 4 }
        #expect(events.elements == ["not held", "1", "2", "3"])
        #expect(world.server.authorizationRequests.count == 2)
    }

    @Test("the client reports an event that no key can decrypt, and delivers the next event")
    func undecryptable() async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let channel = pusher.subscribe("private-encrypted-orders")
        await world.runUntil { channel.subscribed }
        let events = Log<String>()
        var errors = pusher.errors.makeAsyncIterator()
        channel.bind(eventName: "created") { events.append($0.data ?? "") }
        let nonce = String(repeating: "A", count: 32)
        for data in ["plain", #"{"nonce":"\#(nonce)"}"#, #"{"nonce":"\#(nonce)","ciphertext":"\#(nonce)"}"#] {
            world.server.sendEvent("created", data: data, channel: channel.name)
        }
        try world.server.publish(event: "created", data: "good", to: channel.name)
        await world.runUntil { events.count == 1 }
        #expect(events.elements == ["good"])
        #expect(delegate.undecryptable.elements == Array(repeating: "private-encrypted-orders created", count: 3))
        for _ in 1...3 {
            let error = await errors.next()
            #expect(error?.code == .decryptionFailed)
            #expect(error?.channelName == channel.name)
            #expect(error?.eventName == "created")
        }
        // One request was for the subscription, and the second for the event that another key might decrypt.
        #expect(world.server.authorizationRequests.count == 2)
    }

    @Test("the client reports each event that is not encrypted, but logs one warning for many events")
    func notEncrypted() async throws {
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.warning)))
        let channel = pusher.subscribe("private-encrypted-orders")
        await world.runUntil { channel.subscribed }
        var errors = pusher.errors.makeAsyncIterator()
        for data in [#"{"id":7}"#, "hello", "[]"] {
            world.server.sendEvent("created", data: data, channel: channel.name)
        }
        await world.run()
        for _ in 1...3 {
            let error = await errors.next()
            #expect(error?.message.contains("\"created\" failed: it is not encrypted") == true)
        }
        #expect(lines.messages.count == 1)
        #expect(lines.messages.first?.contains("it is not encrypted") == true)
        #expect(world.server.authorizationRequests.count == 1)
    }

    @Test("a subscription fails if its authorization has no shared secret")
    func missingSecret() async throws {
        let method = AuthMethod.authorizer { _ in PusherAuth(auth: "app-key:0") }
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: method))
        let channel = pusher.subscribe("private-encrypted-orders")
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(error?.code == .invalidAuthorization)
        #expect(!world.server.receivedMessages().contains { $0.contains("pusher:subscribe") })
    }

    @Test(
        "the client reports an unusable shared secret without showing it, and requests the key again",
        arguments: ["", "c2hvcnQ=", "not base64 at all", String(repeating: "0", count: 44)]
    )
    func unusableSecret(secret: String) async throws {
        let asked = Log<String>()
        let method = AuthMethod.authorizer { [server = world.server] request in
            asked.append(request.channelName)
            let signed = server.authorization(forSocket: request.socketID, channel: request.channelName)
            return PusherAuth(auth: signed.auth, sharedSecret: asked.count == 1 ? secret : signed.sharedSecret)
        }
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: method, logger: lines.logger(.warning)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("private-encrypted-orders")
        let events = Log<String>()
        channel.bind(eventName: "created") { events.append($0.data ?? "") }
        await world.runUntil { channel.subscribed }
        #expect(delegate.errors.elements.map(\.clientError.code) == [.invalidAuthorization])
        #expect(lines.messages.count { $0.contains("The key of an encrypted channel is invalid") } == 1)
        #expect(delegate.errors.elements.map(\.clientError.channelName) == [channel.name])
        if !secret.isEmpty { #expect(delegate.errors.elements.allSatisfy { !$0.description.contains(secret) }) }
        for data in ["1", "2"] { try world.server.publish(event: "created", data: data, to: channel.name) }
        await world.runUntil { events.count == 2 }
        #expect(events.elements == ["1", "2"])
        #expect(asked.count == 2)
        #expect(delegate.undecryptable.elements.isEmpty)
    }

    @Test("the key of the next connection decrypts events that waited for a key at the loss")
    func lossDuringRefresh() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("private-encrypted-orders")
        await world.runUntil { channel.subscribed }
        let events = Log<String>()
        channel.bind(eventName: "created") { events.append($0.data ?? "") }
        world.server.failAuthorizations(1, with: .unanswered)
        world.server.rotateEncryptionKey()
        try world.server.publish(event: "created", data: "1", to: channel.name)
        await world.runUntil { world.server.authorizationRequests.count == 2 }
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        await world.runUntil { channel.subscribed }
        try world.server.publish(event: "created", data: "2", to: channel.name)
        await world.runUntil { events.count == 2 }
        #expect(events.elements == ["1", "2"])
    }

    @Test("the client never sends the shared secret")
    func secretStays() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("private-encrypted-orders")
        await world.runUntil { channel.subscribed }
        #expect(!world.server.receivedMessages().contains { $0.contains("shared_secret") })
    }
}
