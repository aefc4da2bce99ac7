import NIOCore
import NIOPosix
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@testable import WebSocketClient

@Suite("WebSockets on loopback", .limited)
struct WebSocketTransportTests {
    @Test("carries messages in both directions, and reports the end of each read")
    func messages() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            #expect(await peer.readFrame() == .init(opcode: 1, payload: Array("hello".utf8)))
            #expect(await peer.readFrame() == .init(opcode: 2, payload: [1, 2]))
            #expect(await peer.readFrame() == .init(opcode: 9, payload: []))
            try await peer.write(
                serverFrame(1, "a") + serverFrame(2, [3]) + serverFrame(10) + serverFrame(1, "b", isFinal: false)
            )
            #expect(await peer.readFrame() == .close(1000, "done"))
            try await peer.write(serverFrame(0, "c") + serverFrame(8, [0x03, 0xE8]))
            #expect(await peer.readFrame() == nil)
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.next() == .opened)
            #expect(await socket.next() == .readComplete)
            let written = socket.eventLoop.makePromise(of: Void.self)
            try await socket.perform {
                $0.send("hello", promise: written)
                $0.sendBinary(ByteBuffer(bytes: [1, 2]), promise: nil)
                $0.sendPing()
                $0.flush()
            }
            try await written.futureResult.get()
            for expected in [.text("a"), .binary([3]), .activity, .activity, .readComplete] as [SocketUnderTest.Event] {
                #expect(await socket.next() == expected)
            }
            try await socket.perform { $0.close(code: .normalClosure, reason: "done") }
            #expect(await socket.nextOutcome() == .text("bc"))
            #expect(await socket.nextOutcome() == .closed(WebSocketClosure(code: 1000)))
            let unsent = socket.eventLoop.makePromise(of: Void.self)
            try await socket.perform { $0.send("late", promise: unsent) }
            await #expect(throws: WebSocketError.self) { try await unsent.futureResult.get() }
            #expect(try await socket.abort() == [])
        }
    }

    @Test("reads a frame that arrives in the same segment as the answer")
    func firstFrameWithAnswer() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(1, "at once"))
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            for expected in [.opened, .text("at once"), .readComplete] as [SocketUnderTest.Event] {
                #expect(await socket.next() == expected)
            }
            #expect(try await socket.abort() == [])
        }
    }

    @Test("a slow large message counts as activity")
    func slowMessage() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            let frame = serverFrame(1, String(repeating: "x", count: 100_000))
            try await peer.write(Array(frame[..<50_000]))
            _ = await peer.readFrame()
            try await peer.write(Array(frame[50_000...]))
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.nextOutcome() == .opened)
            while let event = await socket.next(), event != .activity { #expect(event == .readComplete) }
            try await socket.perform {
                $0.sendPing()
                $0.flush()
            }
            #expect(await socket.nextOutcome() == .text(String(repeating: "x", count: 100_000)))
            _ = try await socket.abort()
        }
    }

    @Test("answers a ping with its payload")
    func ping() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(9, "one") + serverFrame(9, "two"))
            #expect(await peer.readFrame() == .init(opcode: 10, payload: Array("one".utf8)))
            #expect(await peer.readFrame() == .init(opcode: 10, payload: Array("two".utf8)))
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.next() == .opened)
            #expect(await socket.next() == .activity)
            #expect(await socket.next() == .activity)
            #expect(await socket.next() == .readComplete)
            #expect(await socket.nextOutcome()?.error == .connectionClosed)
        }
    }

    @Test("connects to an IPv6 address with or without brackets", arguments: ["::1", "[::1]"])
    func addresses(host: String) async throws {
        try await withScriptedServer(host: "::1") { peer in
            let request = await peer.readUpgrade()
            #expect(request.contains("\r\nHost: [::1]:"))
            try await peer.write(acceptance(of: request))
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(.init(host: host, port: port, useTLS: false, path: "/"))
            #expect(await socket.nextOutcome() == .opened)
            _ = try await socket.abort()
        }
    }

    @Test("looks host names up")
    func hostName() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(.init(host: "localhost", port: port, useTLS: false, path: "/"))
            #expect(await socket.nextOutcome() == .opened)
            _ = try await socket.abort()
        }
    }

    @Test("fails if a name cannot be resolved")
    func unknownName() async throws {
        // The label is too long, so the system fails without a query to a name server.
        let host = String(repeating: "a", count: 70)
        let socket = try SocketUnderTest(.init(host: host, port: 80, useTLS: false, path: "/"))
        guard case .closed(let closure) = await socket.next() else {
            Issue.record("it was not closed")
            return
        }
        #expect(closure.error?.code == .nameResolutionFailed)
        // NIO's resolver runs lookups one at a time, so the client must use its own resolver.
        #expect(closure.error?.cause is HostLookup.Failure)
        #expect(try await socket.abort() == [])
    }

    @Test("fails if nothing listens on the port")
    func refusedPort() async throws {
        let request = WebSocketRequest(host: LoopbackAddress.ofItsOwn(), port: 9, useTLS: false, path: "/")
        let socket = try SocketUnderTest(request)
        #expect(await socket.next()?.error == .connectionFailed)
        #expect(try await socket.abort() == [])
    }

    @Test("the connector reports an invalid port as an event", arguments: [0, -1, 65_536, .max])
    func invalidPort(port: Int) async throws {
        let socket = try SocketUnderTest(port: port)
        #expect(await socket.next()?.error == .invalidPort)
        #expect(try await socket.abort() == [])
    }

    @Test(
        "an attempt fails if the answer does not accept the upgrade",
        arguments: [
            ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno", "HTTP status 503"),
            (
                "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: A\r\n\r\n",
                "Accept"
            ),
            ("220 mail.example.com ESMTP\r\n", "not HTTP"),
            ("\0\u{1}\u{2}", "not HTTP"),
            ("HTTP/1.1 101 X\r\nX: \(String(repeating: "x", count: 1_000_000))", "larger than"),
        ] as [(LongText, String)]
    )
    func refusedUpgrade(answer: LongText, expected: String) async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write(answer.text)
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            let end = try #require(await socket.next())
            #expect(end.error == .upgradeFailed && end.message.contains(expected), "\(end)")
            #expect(try await socket.abort() == [])
        }
    }

    @Test("fails if the server first sends data of another protocol")
    func bannerFirst() async throws {
        try await withScriptedServer { peer in
            try await peer.write("SSH-2.0-OpenSSH\r\n")
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.next()?.error == .upgradeFailed)
            #expect(try await socket.abort() == [])
        }
    }

    @Test("fails if the server accepts and then closes the connection", arguments: [true, false])
    func acceptThenClose(readsRequest: Bool) async throws {
        try await withScriptedServer { peer in
            if readsRequest { _ = await peer.readUpgrade() }
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            let error = await socket.next()?.error
            #expect(error == .upgradeFailed || error == .connectionFailed)
            #expect(try await socket.abort() == [])
        }
    }
}
