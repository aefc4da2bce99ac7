import ClientTestSupport
import Foundation
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("A server in another process", .limited)
struct KilledServerTests {
    @Test("the client reconnects with all channels after its server was killed and started again", .needsSodium)
    func killed() async throws {
        let host = LoopbackAddress.ofItsOwn()
        let server = try await ServingProcess(["--host", host, "--port", "0", "--secret", "a secret"])
        let pusher = Pusher(
            key: "app-key",
            options: PusherClientOptions(
                authMethod: .inline(
                    secret: "a secret",
                    encryptionMasterKey: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
                ),
                host: .host(host),
                port: server.port,
                useTLS: false,
                timeouts: .patient,
                retryPolicy: .delays([.milliseconds(20)]),
                callbackQueue: .eventLoop,
                logger: .quiet
            )
        )
        let names = ["", "private-", "presence-", "private-encrypted-", "cache-", "private-cache-", "presence-cache-"]
        let channels = names.map { pusher.subscribe("\($0)orders") }
        var resubscriptions = channels.map { $0.resubscriptions.makeAsyncIterator() }
        var errors = pusher.errors.makeAsyncIterator()
        try await pusher.connected()
        for channel in channels { try await channel.subscribed() }

        server.process.send(SIGKILL)
        #expect(await server.process.end() == SIGKILL)
        #expect(await errors.next()?.code == .connectionClosed)
        // The system closes the sockets one by one, so attempts can still reach the listening socket for a moment.
        var code = await errors.next()?.code
        while code == .connectionClosed || code == .upgradeFailed { code = await errors.next()?.code }
        #expect(code == .connectionFailed)
        #expect(!channels.contains { $0.subscribed })
        let next = try await ServingProcess(["--host", host, "--port", "\(server.port)", "--secret", "a secret"])
        for index in channels.indices { #expect(await resubscriptions[index].next() != nil) }
        try await pusher.connected()
        for channel in channels { try await channel.subscribed() }
        await pusher.disconnected()
        next.process.send(SIGTERM)
        #expect(await next.process.end() == 0)
    }

    @Test("pusher serve prints the values that a client needs, and uses the given dialect")
    func serve() async throws {
        let server = try await ServingProcess([
            "--port", "0", "--app-id", "7", "--key", "a-key", "--secret", "s", "--dialect", "pusher-fake", "--verbose",
        ])
        #expect(server.values["host"] == "127.0.0.1")
        #expect(server.values["app id"] == "7" && server.values["key"] == "a-key" && server.values["secret"] == "s")
        #expect(server.values["websocket"] == "ws://127.0.0.1:\(server.port)/app/a-key")
        #expect(server.values["rest"] == "http://127.0.0.1:\(server.port)/apps/7/events")
        let pusher = Pusher(
            key: "a-key",
            options: PusherClientOptions(
                authMethod: .endpoint(authEndpoint: try #require(server.values["auth"])),
                host: .host("127.0.0.1"),
                port: server.port,
                useTLS: false,
                timeouts: .patient,
                callbackQueue: .eventLoop,
                logger: .quiet
            )
        )
        let channel = pusher.subscribe("private-orders")
        try await pusher.connected()
        try await channel.subscribed()
        var lines = server.process.lines.makeAsyncIterator()
        while let line = await lines.next() {
            if line.contains("subscribed"), line.contains("private-orders") { break }
        }
        await pusher.disconnected()
        server.process.send(SIGINT)
        #expect(await server.process.end() == 0)
    }

    @Test(
        "the tool rejects invalid arguments",
        arguments: [["--port", "70000"], ["--dialect", "latin"], ["--key", ""]]
    )
    func wrongArguments(arguments: [String]) async throws {
        let process = try ChildProcess("pusher", ["serve"] + arguments, showsErrors: true)
        #expect(await process.end() == 64)
    }
}

/// A process that runs `pusher serve` and is ready for clients.
private struct ServingProcess {
    let process: ChildProcess
    /// The values that the process has printed.
    let values: [String: String]
    let port: Int

    init(_ arguments: [String]) async throws {
        process = try ChildProcess("pusher", ["serve"] + arguments)
        var values: [String: String] = [:]
        for await line in process.lines {
            if line == "ready" { break }
            let (name, value) = (line.prefix(10), line.dropFirst(10))
            values[name.trimmingCharacters(in: .whitespaces)] = String(value)
        }
        self.values = values
        self.port = try #require(values["port"].flatMap { Int($0) })
    }
}
