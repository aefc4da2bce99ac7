import NIOCore
import NIOPosix
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing
import WebSocketClient

@Suite("Aborting a WebSocket", .limited)
struct WebSocketAbortTests {
    /// The numbers of turns of the event loop before the abort. The first abort comes before the first step, and the
    /// last abort usually comes after the upgrade.
    static let turns = Array(0...24)

    // The scripted server returns only after all its connections have ended, so the test fails if a connection remains
    // open.

    @Test("the client aborts a TCP connection at any time", arguments: turns)
    func plain(turns: Int) async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            await peer.readToEnd()
        } _: { port in
            try await abort(.init(host: "127.0.0.1", port: port, useTLS: false, path: "/"), after: turns)
        }
    }

    @Test("the client aborts during the lookup, and while it tries addresses", arguments: turns)
    func hostName(turns: Int) async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            await peer.readToEnd()
        } _: { port in
            try await abort(.init(host: "localhost", port: port, useTLS: false, path: "/"), after: turns)
        }
    }

    @Test("the client aborts a TLS connection at any time", arguments: turns)
    func secured(turns: Int) async throws {
        let certificates = TestCertificates()
        let connector = WebSocketConnector(
            with(WebSocketOptions()) { $0.tls = .init(trustRoots: .only(pem: certificates.rootPEM)) }
        )
        try await withScriptedServer(tls: certificates.serverContext) { peer in
            try await peer.acceptUpgrade()
            await peer.readToEnd()
        } _: { port in
            try await abort(
                .init(host: "127.0.0.1", port: port, useTLS: true, path: "/"),
                connector: connector,
                after: turns
            )
        }
    }

    @Test("the client aborts an attempt to a server that stays silent", arguments: [true, false])
    func silentServer(useTLS: Bool) async throws {
        let (accepted, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            continuation.yield()
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(.init(host: "127.0.0.1", port: port, useTLS: useTLS, path: "/"))
            for await _ in accepted.prefix(1) {}
            #expect(try await socket.abort() == [])
        }
    }

    @Test("the client aborts while it makes the TCP connection")
    func connecting() async throws {
        // The listener accepts no connection and has a short queue, so most attempts cannot complete the TCP
        // connection.
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1)
            .serverChannelOption(.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let sockets = try (0..<8).map { _ in try SocketUnderTest(port: port) }
        for socket in sockets {
            try await socket.perform { _ in }
            #expect(try await socket.abort() == [])
        }
        try await listener.close()
    }

    @Test("all calls after an abort have no effect")
    func afterAbort() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.nextOutcome() == .opened)
            let unsent = socket.eventLoop.makePromise(of: Void.self)
            try await socket.perform {
                $0.abort()
                $0.abort()
                $0.close(code: .normalClosure, reason: "")
                $0.sendPing()
                $0.send("late", promise: unsent)
                $0.flush()
            }
            await #expect(throws: WebSocketError.self) { try await unsent.futureResult.get() }
            #expect(try await socket.abort().filter { $0 != .readComplete } == [])
        }
    }

    private func abort(_ request: WebSocketRequest, connector: WebSocketConnector? = nil, after turns: Int) async throws
    {
        let socket = try SocketUnderTest(request, connector: connector)
        for _ in 0..<turns { try await socket.perform { _ in } }
        let events = try await socket.abort()
        #expect(events.allSatisfy { $0 == .opened || $0 == .readComplete })
    }
}
