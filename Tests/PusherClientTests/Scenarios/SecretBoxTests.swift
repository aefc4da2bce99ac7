import Foundation
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// A box that is not encrypted: 15 zeros, one byte of the key, and the message.
private struct ToyBox: PusherSecretBox {
    /// Calls the client for each box, which would wait for ever if the client held its lock meanwhile.
    let onOpen: @Sendable () -> Void

    func open(_ box: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8]? {
        onOpen()
        guard nonce.count == 24, key.count == 32, box.count >= 16, box[15] == key[0] else { return nil }
        return Array(box[16...])
    }

    static func data(_ message: String, keyByte: UInt8) -> String {
        let box = [UInt8](repeating: 0, count: 15) + [keyByte] + Array(message.utf8)
        let nonce = Data(repeating: 1, count: 24).base64EncodedString()
        return #"{"nonce":"\#(nonce)","ciphertext":"\#(Data(box).base64EncodedString())"}"#
    }
}

@Suite("Encrypted channels with the app's secret box", .limited)
struct SecretBoxTests {
    let world = VirtualWorld()
    private let name = "private-encrypted-orders"

    /// The first byte of the channel's key that the server's backend would return now.
    private func keyByte() throws -> UInt8 {
        let secret = world.server.authorization(forSocket: "1.1", channel: name).sharedSecret
        return try #require(secret.flatMap { Data(base64Encoded: $0) }?.first)
    }

    @Test("the client decrypts with the app's box in every build, off the lock, and fetches a rotated key")
    func opens() async throws {
        let options = PusherClientOptions.virtual()
        let states = Log<ConnectionState>()
        let client = Log<Pusher>()
        options.secretBox = ToyBox {
            for pusher in client.elements { states.append(pusher.connection.connectionState) }
        }
        let pusher = try await world.makeConnectedClient(options)
        client.append(pusher)
        let channel = pusher.subscribe(name)
        await world.runUntil { channel.subscribed }
        let events = Log<String>()
        channel.bind(eventName: "created") { events.append($0.data ?? "") }
        world.server.sendEvent("created", data: ToyBox.data("1", keyByte: try keyByte()), channel: name)
        world.server.sendEvent("created", data: ToyBox.data("2", keyByte: try keyByte()), channel: name)
        await world.run()
        #expect(events.elements == ["1", "2"])
        world.server.rotateEncryptionKey()
        world.server.sendEvent("created", data: ToyBox.data("3", keyByte: try keyByte()), channel: name)
        world.server.sendEvent("created", data: ToyBox.data("4", keyByte: try keyByte()), channel: name)
        await world.runUntil { events.count == 4 }
        #expect(events.elements == ["1", "2", "3", "4"])
        #expect(world.server.authorizationRequests.count == 2)
        #expect(states.elements == Array(repeating: .connected, count: 5))
        _ = client.take()
    }
}

@Suite("A build without libsodium", .limited, .needsNoSodium)
struct BuildWithoutSodiumTests {
    let world = VirtualWorld()

    @Test("an encrypted channel fails with the code encryptionUnavailable, and other channels work")
    func typedError() async throws {
        let pusher = try await world.makeConnectedClient()
        let encrypted = pusher.subscribe("private-encrypted-orders")
        let error = await #expect(throws: SubscriptionError.self) { try await encrypted.subscribed() }
        #expect(error?.code == .encryptionUnavailable)
        #expect(error?.message.contains("options.secretBox") == true)
        let plain = pusher.subscribe("private-orders")
        await world.runUntil { plain.subscribed }
        #expect(world.server.authorizationRequests.count == 1)
    }

    @Test("inline authorization signs without libsodium")
    func inline() async throws {
        let options = PusherClientOptions.virtual()
        options.authMethod = .inline(secret: world.server.options.application.secret)
        let pusher = try await world.makeConnectedClient(options)
        let channel = pusher.subscribe("presence-room")
        await world.runUntil { channel.subscribed }
        #expect(channel.subscribed)
    }
}
