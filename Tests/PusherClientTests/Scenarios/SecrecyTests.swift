import Foundation
import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Secrets stay secret", .limited, .overEachTransport)
struct SecrecyTests {
    /// Returns the signatures, channel keys and app secrets that the server has created or received.
    private func secrets(_ server: PusherTestServer, _ channels: [String]) -> [String] {
        var secrets = [server.options.application.secret, server.options.encryptionMasterKey]
        for connection in server.connections {
            for channel in channels {
                let signed = server.authorization(forSocket: connection.socketID, channel: channel)
                secrets += [signed.auth, signed.sharedSecret].compactMap { $0 }
            }
        }
        for message in server.receivedMessages() {
            // KEY:SIGNATURE
            for part in message.split(whereSeparator: { !$0.isHexDigit }) where part.count == 64 {
                secrets.append(String(part))
            }
        }
        return secrets
    }

    @Test(
        "no log, error or debug callback shows a secret",
        .needsSodium,
        arguments: [PusherTestServer.Dialect.pusher, .soketi, .reverb]
    )
    func nothingLeaks(dialect: PusherTestServer.Dialect) async throws {
        var serverOptions = PusherTestServer.Options()
        serverOptions.dialect = dialect
        let world = VirtualWorld(serverOptions)
        let lines = LogLines()
        let delegate = DebuggingDelegate()
        let method = AuthMethod.inline(
            secret: serverOptions.application.secret,
            encryptionMasterKey: serverOptions.encryptionMasterKey
        )
        let userMethod = UserAuthMethod.inline(secret: serverOptions.application.secret) { #"{"id":"ada"}"# }
        let pusher = world.makeClient(
            .virtual(authMethod: method, userAuthMethod: userMethod, logger: lines.logger(.trace))
        )
        pusher.delegate = delegate
        let names = ["private-a", "presence-a", "private-encrypted-a"]
        let channels = names.map { pusher.subscribe($0) }
        pusher.signIn()
        pusher.connect()
        await world.runUntil { channels.allSatisfy(\.subscribed) }
        // A refusal repeats the invalid signature.
        pusher.connection.options.authMethod = .inline(secret: "another secret")
        let refused = pusher.subscribe("private-b")
        let refusal = try await world.complete {
            do {
                try await refused.subscribed()
                return ""
            } catch {
                return "\(error) \(String(reflecting: error)) \(error.localizedDescription)"
            }
        }
        #expect(!refusal.isEmpty)
        try world.server.publish(event: "created", data: "plain", to: "private-encrypted-a")
        await world.run()

        var shown = lines.messages + delegate.lines.elements + [refusal]
        shown += ["\(pusher)", "\(pusher.connection.options.authMethod)", "\(method)", "\(userMethod)"]
        for value in [pusher.connection.options as Any, method, userMethod] {
            var text = ""
            dump(value, to: &text)
            shown.append(text)
        }
        #expect(lines.messages.count > 10)
        for secret in secrets(world.server, names + ["private-b"]) + ["another secret"] {
            let leak = shown.lazy.flatMap { $0.split(separator: "\n") }.first { $0.contains(secret) }
            if let leak { Issue.record("\(secret) is shown: \(leak)") }
        }
    }

    private final class DebuggingDelegate: PusherDelegate {
        let lines = Log<String>()

        func debugLog(message: String) { lines.append(message) }
        func receivedError(error: PusherError) { lines.append("\(error) \(error.message)") }
    }
}
