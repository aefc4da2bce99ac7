import ClientTestSupport
import Foundation
import Logging
import PusherClient
import TestSupport
import TestTraits
import Testing

@Suite("pusher serve", .serialized, .limited)
struct ServeTests {
    private func makeClient(port: Int, userSecret: String) -> Pusher {
        Pusher(
            key: "app-key",
            options: PusherClientOptions(
                authMethod: .inline(secret: "wrong"),
                host: .host("127.0.0.1"),
                port: port,
                useTLS: false,
                userAuthMethod: .inline(secret: userSecret, user: { #"{"id":"ada"}"# }),
                logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
            )
        )
    }

    @Test(
        "the tool prints the encryption master key, and takes one from an option or a variable",
        .needsSodium,
        arguments: [
            ([], [:], "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
            ([], ["PUSHER_ENCRYPTION_MASTER_KEY": keyOfVariable], keyOfVariable),
            (["--encryption-key", keyOfOption], ["PUSHER_ENCRYPTION_MASTER_KEY": keyOfVariable], keyOfOption),
        ] as [([String], [String: String], String)]
    )
    func encryptionKey(options: [String], environment: [String: String], key: String) async throws {
        let serve = try ToolRun(["serve", "--port", "0", "--no-console"] + options, environment: environment)
        var port = ""
        var printed: String?
        for await line in serve.process.lines {
            if line.hasPrefix("port ") { port = String(line.dropFirst(10)) }
            if line.hasPrefix("encryption key ") { printed = String(line.dropFirst(15)) }
            if line == "ready" { break }
        }
        #expect(printed == key)
        let address = ["--url", "ws://127.0.0.1:\(port)", "--timeout", "280"]
        let listen = try ToolRun(
            ["listen", "private-encrypted-a", "--limit", "1"] + address
                + ["--auth-url", "http://127.0.0.1:\(port)/pusher/auth"]
        )
        await listen.waitForError(containing: "subscribed to private-encrypted-a")
        let trigger = ["trigger", "private-encrypted-a", "created", "hello", "--encryption-key", key]
        #expect(try await ToolRun.result(trigger + address).status == 0)
        #expect(await listen.result().lines.first?.contains(#""data":"hello""#) == true)
        serve.process.send(SIGTERM)
        #expect(await serve.result().status == 0)
    }

    private static let keyOfVariable = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    private static let keyOfOption = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="

    @Test("the tool rejects an invalid encryption master key and names its source")
    func invalidEncryptionKey() async throws {
        let option = try await ToolRun.result(["serve", "--port", "0", "--encryption-key", "short"])
        #expect(option.status == 64)
        #expect(option.errors.first?.contains("--encryption-key takes the base64 of 32 bytes") == true)
        let variable = try await ToolRun.result(
            ["serve", "--port", "0"],
            environment: ["PUSHER_ENCRYPTION_MASTER_KEY": "short"]
        )
        #expect(variable.status == 64)
        #expect(variable.errors.first?.contains("PUSHER_ENCRYPTION_MASTER_KEY takes the base64") == true)
        #expect(!(option.errors + variable.errors).contains { $0.contains("short") })
    }

    @Test("the tool prints no signatures with --verbose")
    func signatures() async throws {
        let arguments = ["serve", "--port", "0", "--dialect", "soketi", "--no-console", "--verbose"]
        let process = try ChildProcess("pusher", arguments)
        var port: Int?
        for await line in process.lines {
            if line.hasPrefix("port ") { port = Int(line.dropFirst(10)) }
            if line == "ready" { break }
        }
        let serverPort = try #require(port)
        let pushers = ["app-secret", "wrong"].map { makeClient(port: serverPort, userSecret: $0) }
        for pusher in pushers {
            _ = pusher.subscribe("private-a")
            pusher.signIn()
            pusher.connect()
        }
        var missing = ["pusher:signin_success", "pusher:subscription_error", "sign-in", "pusher:error"]
        var lines: [String] = []
        for await line in process.lines {
            lines.append(line)
            missing.removeAll { line.contains($0) }
            if missing.isEmpty { break }
        }
        #expect(missing.isEmpty, "\(lines)")
        let signed = lines.filter { $0.contains(#/[0-9a-f]{20}/#) }
        #expect(signed.isEmpty, "\(signed)")
        for pusher in pushers { pusher.disconnect() }
        process.send(SIGTERM)
        #expect(await process.end() == 0)
    }
}
