import ClientTestSupport
import Foundation
import Logging
import NIOHTTP1
import PusherClient
import PusherServerAPI
import PusherTestServer
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing
import WebSocketClient

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

    @Test("the help says what happens to pages and names that the options don't list")
    func accessHelp() async throws {
        let result = try await ToolRun.result(["serve", "--help"])
        #expect(result.status == 0)
        let help = result.lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
        for text in [
            "Pages of this machine are always allowed. The server refuses connections and requests of all other pages with "
                + "status 403.",
            "The server refuses requests for other names than localhost with status 403. IP addresses are always allowed.",
        ] {
            #expect(help.contains(text), "\(help)")
        }
    }

    @Test("the error for an unsuitable value names its place")
    func sources() async throws {
        let good = ["--encryption-key", Self.keyOfOption]
        let apps = { (member: String) in #"{"apps": [{"id": "1"}, {"id": "2", "key": "b", \#(member)}]}"# }
        let cases: [(json: String, options: [String], variable: String?, error: String)] = [
            ("{}", [], "short", "PUSHER_ENCRYPTION_MASTER_KEY takes the base64"),
            (apps(#""encryptionKey": "short""#), good, nil, #""encryptionKey" in apps[1] of "#),
            (apps(#""webhook": "localhost:8000""#), [], nil, #""webhook" in apps[1] of "#),
            (#"{"apps": [{"id": "1"}, {"id": "2", "key": "a b"}]}"#, [], nil, #""key" in apps[1] of "#),
            ("{}", ["--app", "2:a b:s"], nil, "--app takes only letters"),
            ("{}", ["--key", "a b"], nil, "--key takes only letters"),
            ("{}", ["--webhook", "localhost:8000"], nil, "--webhook takes a URL"),
        ]
        for (json, options, variable, error) in cases {
            try await withFiles(["serve.json": json]) { folder in
                let result = try await ToolRun.result(
                    ["serve", "--port", "0", "--config", "\(folder)/serve.json"] + options,
                    environment: variable.map { ["PUSHER_ENCRYPTION_MASTER_KEY": $0] } ?? [:]
                )
                #expect(result.status == 64 && result.errors.first?.contains(error) == true, "\(error): \(result)")
            }
        }
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

    // MARK: Configurations

    /// Writes files into a folder of their own, and runs the body with the path of the folder.
    private func withFiles(_ files: [String: String], _ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pusher-serve-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
        try await body(folder.path)
    }

    /// Returns the settings that a server prints, by their names. Of two with one name, the last counts.
    private func settings(_ serve: ToolRun) async -> [String: String] {
        var settings: [String: String] = [:]
        for await line in serve.process.lines {
            if line == "ready" { break }
            let words = line.split(separator: " ")
            settings[words.dropLast().joined(separator: " ")] = words.last.map(String.init)
        }
        return settings
    }

    /// A backend that uses a server's port for TLS.
    private func backend(
        port: String,
        key: String = "app-key",
        secret: String = "app-secret",
        encryptionKey: String? = nil,
        _ certificates: TestCertificates
    ) throws -> PusherServerAPI {
        var options = PusherServerAPI.Options()
        options.tls.trustRoots = .only(pem: certificates.rootPEM)
        (options.timeout, options.proxy) = (.patience, .direct)
        return try PusherServerAPI(
            application: .init(id: "1", key: key, secret: secret, encryptionMasterKey: encryptionKey),
            endpoint: .init(host: "localhost", port: Int(port)),
            options: options
        )
    }

    /// Checks a webhook, and returns the channels of its events.
    private func check(_ webhook: ReceivedRequest, of backend: PusherServerAPI) throws -> Set<String?> {
        let checked = try backend.webhook(
            body: webhook.body.utf8,
            key: webhook.headers.first(name: "X-Pusher-Key"),
            signature: webhook.headers.first(name: "X-Pusher-Signature")
        )
        return Set(checked.events.map(\.channel))
    }

    /// Returns the first line of the answer to a request.
    private func answer(port: String, _ fields: String) async throws -> String? {
        let request = #"GET /app/none HTTP/1.1\r\n\#(fields)\r\n\r\n"#
        let script = "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; head -n 1 <&3"
        let process = try ChildProcess("/bin/bash", ["-c", script])
        var first: String?
        for await line in process.lines { first = first ?? line }
        _ = await process.end()
        return first
    }

    @Test("options of the command line have their effect: counts, client events, webhooks and TLS", .needsSodium)
    func effects() async throws {
        try await HTTPTestServer.serving({ _ in .answer(200) }) { receiver in
            let certificates = TestCertificates()
            let files = ["chain.pem": certificates.serverPEM, "key.pem": certificates.serverKeyPEM]
            try await withFiles(files) { folder in
                let serve = try ToolRun([
                    "serve", "--no-console", "--port", "0", "--tls-port", "0", "--tls-cert", "\(folder)/chain.pem",
                    "--tls-key", "\(folder)/key.pem", "--webhook", "\(receiver.url)/hook", "--subscription-counts",
                    "--no-client-events",
                ])
                let settings = await settings(serve)
                #expect(settings["webhooks"] == "\(receiver.url)/hook")
                let pusher = Pusher(
                    key: "app-key",
                    options: PusherClientOptions(
                        authMethod: .inline(secret: "app-secret"),
                        host: .host("127.0.0.1"),
                        port: Int(try #require(settings["port"])),
                        useTLS: false,
                        logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
                    )
                )
                let errors = pusher.errors
                let channel = pusher.subscribe("private-a")
                pusher.connect()
                try await channel.subscribed()
                await waitUntil { channel.subscriptionCount == 1 }
                channel.trigger(eventName: "client-a", data: ["a": 1])
                let error = await errors.first { $0.code == .clientEventRejected }
                #expect(error?.message.contains("not enabled") == true)
                let backend = try backend(port: try #require(settings["tls port"]), certificates)
                #expect(try await Array(backend.channels().keys) == ["private-a"])
                let webhook = try #require(await receiver.nextRequest())
                #expect(try check(webhook, of: backend) == ["private-a"])
                backend.shutdown()
                pusher.disconnect()
                serve.process.send(SIGTERM)
                #expect(await serve.result().status == 0)
            }
        }
    }

    @Test("the configuration's dialect and activity timeout hold for all apps, and each app has its own client events")
    func effectsOfConfiguration() async throws {
        let json = #"""
            {
              "dialect": "soketi", "activityTimeout": 7,
              "apps": [
                { "id": "1", "key": "one", "secret": "first-secret" },
                { "id": "2", "key": "two", "secret": "second-secret", "clientEvents": false }
              ]
            }
            """#
        try await withFiles(["serve.json": json]) { folder in
            let serve = try ToolRun(["serve", "--no-console", "--port", "0", "--config", "\(folder)/serve.json"])
            let port = Int(try #require(await settings(serve)["port"]))
            func makeClient(_ key: String, _ secret: String) -> Pusher {
                Pusher(
                    key: key,
                    options: PusherClientOptions(
                        authMethod: .inline(secret: secret),
                        host: .host("127.0.0.1"),
                        port: port,
                        useTLS: false,
                        logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
                    )
                )
            }
            for key in ["one", "two"] {
                let url = "ws://127.0.0.1:\(try #require(port))/app/\(key)?protocol=7"
                let webSocket = try await WebSocket.connect(to: url)
                try await webSocket.send(#"{"event":"pusher:subscribe","data":{"channel":"news"}}"#)
                var texts: [String] = []
                for try await message in webSocket.messages {
                    if case .text(let text) = message { texts.append(text) }
                    if texts.count == 2 { break }
                }
                #expect(texts.first?.replacing("\\", with: "").contains(#""activity_timeout":7"#) == true, "\(texts)")
                // soketi confirms a subscription without data.
                #expect(texts.last?.contains("subscription_succeeded") == true && texts.last?.contains("data") == false)
                try webSocket.close()
            }
            let (sender, receiver) = (makeClient("one", "first-secret"), makeClient("one", "first-secret"))
            let listening = receiver.subscribe("private-a")
            let received = listening.events(named: "client-a")
            receiver.connect()
            try await listening.subscribed()
            sender.connect()
            let channel = sender.subscribe("private-a")
            try await channel.subscribed()
            channel.trigger(eventName: "client-a", data: ["a": 1])
            #expect(await received.first { _ in true } != nil)
            let rejected = makeClient("two", "second-secret")
            let errors = rejected.errors
            rejected.connect()
            let other = rejected.subscribe("private-a")
            try await other.subscribed()
            other.trigger(eventName: "client-a", data: ["a": 1])
            #expect(await errors.first { $0.code == .clientEventRejected } != nil)
            for client in [sender, receiver, rejected] { client.disconnect() }
            serve.process.send(SIGTERM)
            #expect(await serve.result().status == 0)
        }
    }

    @Test("with an IPv6 address, the printed addresses have brackets")
    func addressesOfIPv6() async throws {
        let certificates = TestCertificates()
        let files = ["chain.pem": certificates.serverPEM, "key.pem": certificates.serverKeyPEM]
        try await withFiles(files) { folder in
            let serve = try ToolRun([
                "serve", "--no-console", "--host", "::1", "--port", "0", "--tls-port", "0", "--tls-cert",
                "\(folder)/chain.pem", "--tls-key", "\(folder)/key.pem",
            ])
            let settings = await settings(serve)
            let port = try #require(settings["tls port"])
            // The line for TLS is the last of the two.
            #expect(settings["websocket"] == "wss://[::1]:\(port)/app/app-key")
            serve.process.send(SIGTERM)
            #expect(await serve.result().status == 0)
        }
    }

    /// The configuration in `Docs/CommandLineTool.md`, with free ports and the URL of the test.
    private static func configuration(webhook: String) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Docs/CommandLineTool.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(text.range(of: "```json\n{\n  \"port\"")).lowerBound
        let block = text[start...].dropFirst("```json\n".count)
        let json = String(block[..<(try #require(block.range(of: "```")).lowerBound)])
        return json.replacing("\"port\": 6001", with: "\"port\": 0").replacing("\"port\": 6443", with: "\"port\": 0")
            .replacing("http://localhost:8000/webhooks", with: webhook)
    }

    @Test("the documented configuration works: webhooks, an encryption key, TLS and two applications", .needsSodium)
    func configuration() async throws {
        try await HTTPTestServer.serving({ _ in .answer(200) }) { receiver in
            let certificates = TestCertificates()
            let files = [
                "pusher.json": try Self.configuration(webhook: receiver.url + "/hook"),
                "localhost.pem": certificates.serverPEM, "localhost-key.pem": certificates.serverKeyPEM,
            ]
            try await withFiles(files) { folder in
                let serve = try ToolRun(["serve", "--no-console", "--config", "\(folder)/pusher.json"])
                let values = await settings(serve)
                #expect(values["key"] == "shop-key" && values["app"] == "2:blog-key:blog-secret")
                let key = try #require(values["encryption key"])
                #expect(key == "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
                let (port, tlsPort) = (try #require(values["port"]), try #require(values["tls port"]))
                let shop = ["--app-id", "1", "--key", "shop-key", "--secret", "shop-secret"]
                let plain = ["--url", "ws://127.0.0.1:\(port)", "--timeout", "280"]
                let listen = try ToolRun(
                    ["listen", "private-encrypted-a", "--limit", "1"] + plain + shop
                        + ["--auth-url", "http://127.0.0.1:\(port)/pusher/auth"]
                )
                await listen.waitForError(containing: "subscribed to private-encrypted-a")
                let backend = try backend(
                    port: tlsPort,
                    key: "shop-key",
                    secret: "shop-secret",
                    encryptionKey: key,
                    certificates
                )
                try await backend.trigger(.init("created", data: "hello"), on: "private-encrypted-a")
                #expect(await listen.result().lines.first?.contains(#""data":"hello""#) == true)
                let webhook = try #require(await receiver.nextRequest())
                #expect(try webhook.uri == "/hook" && check(webhook, of: backend) == ["private-encrypted-a"])
                backend.shutdown()
                for (fields, status) in [
                    ("Host: host.docker.internal", 404), ("Host: other.example.test", 403),
                    (#"Host: localhost\r\nOrigin: https://app.example.test"#, 404),
                    (#"Host: localhost\r\nOrigin: https://other.example.test"#, 403),
                ] {
                    let line = try await answer(port: port, fields)
                    #expect(line?.hasPrefix("HTTP/1.1 \(status) ") == true, "\(fields): \(line ?? "-")")
                }
                // The tool does not trust the certificate of the test, so the connection fails after the TLS handshake.
                let secure = ["--url", "wss://localhost:\(tlsPort)", "--timeout", "280"]
                let refused = try await ToolRun.result(["channels"] + secure + shop)
                #expect(refused.status == 1 && refused.errors.last?.contains("certificate") == true, "\(refused)")
                let blog = ["--app-id", "2", "--key", "blog-key", "--secret", "blog-secret"]
                #expect(try await ToolRun.result(["channels"] + plain + blog).status == 0)
                serve.process.send(SIGTERM)
                #expect(await serve.result().status == 0)
            }
        }
    }

    @Test("an unknown or unsuitable member of the configuration is an error with its place")
    func invalidConfiguration() async throws {
        let cases = [
            (#"{"prot": 1}"#, #"unknown member "prot" in "#), (#"{"port": "1"}"#, #""port" in "#),
            (#"{"apps": [{"id": "1"}, {"webhok": ""}]}"#, #"unknown member "webhok" in apps[1] of "#),
            (#"{"tls": {"certificate": "c.pem"}}"#, #""key" in tls of "#), ("{", "is not JSON"),
            (#"{"dialect": "pushr"}"#, "is one of pusher, soketi"), ("[]", "is not a JSON object"),
        ]
        for (json, text) in cases {
            try await withFiles(["serve.json": json]) { folder in
                let result = try await ToolRun.result(["serve", "--port", "0", "--config", "\(folder)/serve.json"])
                #expect(result.status == 64, "\(json)")
                #expect(result.errors.first?.contains(text) == true, "\(result)")
            }
        }
    }

    @Test("options of the command line replace those of the configuration, and --app adds applications", .needsSodium)
    func precedence() async throws {
        let json = #"{"port": 1, "apps": [{"id": "1", "key": "of-file", "secret": "s", "clientEvents": true}]}"#
        try await withFiles(["serve.json": json]) { folder in
            let options = ["--port", "0", "--key", "of-option", "--app", "9:nine:secret", "--no-client-events"]
            let serve = try ToolRun(
                ["serve", "--no-console", "--subscription-counts", "--config", "\(folder)/serve.json"] + options
            )
            var lines: [String] = []
            for await line in serve.process.lines {
                if line == "ready" { break }
                lines.append(line)
            }
            #expect(lines.contains("key       of-option") && lines.contains("app       9:nine:secret"), "\(lines)")
            serve.process.send(SIGTERM)
            #expect(await serve.result().status == 0)
        }
        let twice = try await ToolRun.result(["serve", "--port", "0", "--app", "1:other:secret"])
        #expect(twice.status == 64 && twice.errors.first?.contains("Two applications have the id") == true)
        let half = try await ToolRun.result(["serve", "--port", "0", "--tls-cert", "/dev/null"])
        #expect(half.status == 64 && half.errors.first?.contains("--tls-cert and --tls-key belong together") == true)
        let tls = #"{"tls": {"certificate": "c.pem", "key": "k.pem"}}"#
        try await withFiles(["serve.json": tls]) { folder in
            let mixed = try await ToolRun.result([
                "serve", "--port", "0", "--config", "\(folder)/serve.json", "--tls-cert", "/dev/null",
            ])
            #expect(mixed.errors.first?.contains("--tls-cert and --tls-key belong together") == true)
        }
    }

    @Test("pusher terminate closes the connections of a user")
    func terminate() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = makeClient(port: server.port, userSecret: "app-secret")
            pusher.connect()
            pusher.signIn()
            try await server.nextRecord(timeout: .patience) { $0.event == .signedIn(userID: "ada") }
            let result = try await ToolRun.result(["terminate", "ada"] + server.toolOptions)
            #expect(result.status == 0 && result.lines.isEmpty, "\(result)")
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
            pusher.disconnect()
        }
    }
}
