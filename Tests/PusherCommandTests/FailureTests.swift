import PusherTestServer
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@Suite("The tool with a failing server", .serialized, .limited)
struct FailureTests {
    /// The commands that use a server.
    static let commands = [
        ["channels"], ["channel", "private-a"], ["users", "presence-a"], ["trigger", "private-a", "e", "hush-data"],
        ["listen", "private-a"], ["terminate", "ada"],
    ]

    private func expectFailure(
        _ arguments: [String],
        status: Int32 = 1,
        _ texts: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let result = try await ToolRun.result(arguments)
        #expect(result.status == status, "\(result)", sourceLocation: sourceLocation)
        #expect(result.lines.isEmpty, sourceLocation: sourceLocation)
        // Only `pusher listen` prints another line before the error.
        #expect(
            result.errors.filter { $0.hasPrefix("Error: ") }.count == 1,
            "\(result)",
            sourceLocation: sourceLocation
        )
        let error = result.errors.last ?? ""
        #expect(error.hasPrefix("Error: "), sourceLocation: sourceLocation)
        #expect(texts.contains { error.contains($0) }, "\(error)", sourceLocation: sourceLocation)
        for secret in ["app-secret", "hush"] { #expect(!error.contains(secret), sourceLocation: sourceLocation) }
    }

    @Test("every command reports a wrong key", arguments: commands)
    func wrongKey(command: [String]) async throws {
        try await PusherTestServer.withServer { server in
            try await expectFailure(
                command + server.toolOptions + ["--key", "wrong"],
                "Check app id, key",
                "Check --key"
            )
        }
    }

    @Test("every command reports a wrong secret", arguments: commands)
    func wrongSecret(command: [String]) async throws {
        try await PusherTestServer.withServer { server in
            let arguments = command + server.toolOptions + ["--secret", "hush"]
            try await expectFailure(arguments, "key and secret", "Check the secret")
        }
    }

    @Test("every command reports a missing server", arguments: commands)
    func noServer(command: [String]) async throws {
        var options = PusherTestServer.Options()
        options.host = LoopbackAddress.ofItsOwn()
        let server = PusherTestServer(options: options)
        try await server.start()
        await server.shutdown()
        let isListening = command[0] == "listen"
        // `pusher listen` tries again until its time limit.
        let limit = isListening ? ["--timeout", "1"] : []
        try await expectFailure(
            command + server.toolOptions + limit,
            status: isListening ? 2 : 1,
            "whether the server runs"
        )
    }

    @Test("every command reports a connection with TLS to a server without TLS", arguments: commands)
    func tlsAgainstPlain(command: [String]) async throws {
        try await PusherTestServer.withServer { server in
            let arguments = command + ["--url", "wss://\(server.host):\(server.port)", "--timeout", "280"]
            try await expectFailure(arguments, "without TLS", "Use ws instead of wss")
        }
    }

    @Test("for a host from the environment without a scheme, the tool names PUSHER_SCHEME", arguments: commands)
    func missingScheme(command: [String]) async throws {
        try await PusherTestServer.withServer { server in
            let environment = ["PUSHER_HOST": server.host, "PUSHER_PORT": "\(server.port)"]
            let result = try await ToolRun.result(command + ["--timeout", "280"], environment: environment)
            #expect(result.status == 1)
            #expect(result.errors.last?.contains("PUSHER_SCHEME is not set, so the tool uses TLS") == true, "\(result)")
            let chosen = environment.merging(["PUSHER_SCHEME": "https"]) { $1 }
            let other = try await ToolRun.result(command + ["--timeout", "280"], environment: chosen)
            #expect(other.status == 1)
            #expect(other.errors.last?.contains("PUSHER_SCHEME") == false, "\(other)")
        }
    }

    @Test("every command reports a connection without TLS to a server with TLS", arguments: commands)
    func plainAgainstTLS(command: [String]) async throws {
        let certificates = TestCertificates()
        var options = PusherTestServer.Options()
        options.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        try await PusherTestServer.withServer(options: options) { server in
            let arguments = command + ["--url", "ws://\(server.host):\(server.port)", "--timeout", "280"]
            try await expectFailure(arguments, "expects TLS", "expects wss")
        }
    }

    @Test("every command reports a host that does not resolve", arguments: commands)
    func unresolved(command: [String]) async throws {
        let arguments = command + ["--url", "wss://ws-nowhere.invalid", "--timeout", "280"]
        try await expectFailure(arguments, "could not be resolved")
    }

    @Test("every command reports a server that does not answer", arguments: commands)
    func silence(command: [String]) async throws {
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { server in
            let arguments = command + ["--url", "ws://127.0.0.1:\(server.port)", "--timeout", "0.5"]
            try await expectFailure(arguments, status: 2, "whether the server runs")
        }
    }
}
