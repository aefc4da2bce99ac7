import NIOCore
import NIOEmbedded
import NIOPosix
import RealtimePrimitives
import SocketTestSupport
import TestSupport
import TestTraits
import Testing
import WebSocketClient

@Suite("Closing and loss of a WebSocket", .limited)
struct WebSocketClosingTests {
    @Test("the client echoes and reports a close frame once, at once", arguments: [1000, 1001, 4004, 4200])
    func closedByServer(code: Int) async throws {
        try await withScriptedServer { peer in
            let close = ScriptedPeer.Frame.close(code, "bye").payload
            try await peer.acceptUpgrade(
                followedBy: serverFrame(8, close) + serverFrame(1, "late") + serverFrame(8, close)
            )
            #expect(await peer.readFrame() == .close(code))
            // No other bytes arrive, and the connection stays open until the client closes it.
            try await peer.write(serverFrame(1, "later"))
            #expect(await peer.readFrame() == nil)
        } _: { port in
            let socket = try SocketUnderTest(
                port: port,
                options: with(WebSocketOptions()) { $0.closeTimeout = .seconds(3600) }
            )
            #expect(await socket.nextOutcome() == .opened)
            let closure = WebSocketClosure(code: WebSocketCloseCode(rawValue: code), reason: "bye")
            #expect(await socket.nextOutcome() == .closed(closure))
            #expect(try await socket.abort() == [])
        }
    }

    @Test("the client echoes a close frame without a code, and reports it as 1005")
    func closedWithoutCode() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(8))
            #expect(await peer.readFrame() == .init(opcode: 8, payload: []))
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.nextOutcome() == .opened)
            #expect(await socket.nextOutcome() == .closed(WebSocketClosure(code: 1005)))
            _ = try await socket.abort()
        }
    }

    @Test("the client closes the socket after the timeout if the server keeps it open")
    func serverKeepsSocket() throws {
        let connection = try EmbeddedConnection(with(WebSocketOptions()) { $0.closeTimeout = .seconds(5) })
        try connection.receive(serverFrame(8, [0x03, 0xE8]))
        #expect(try connection.takeFrames() == [.close(1000)])
        #expect(connection.ends.elements == [WebSocketClosure(code: 1000)])
        expectEnd(of: connection)
        #expect(connection.ends.count == 1)
        try connection.finish()
    }

    @Test("the client closes the socket after the timeout if the server does not answer its close frame")
    func unanswered() throws {
        let connection = try EmbeddedConnection(with(WebSocketOptions()) { $0.closeTimeout = .seconds(5) })
        connection.connection.close(code: 4201, reason: "")
        #expect(try connection.takeFrames() == [.close(4201)])
        #expect(connection.ends.elements.isEmpty)
        expectEnd(of: connection)
        #expect(connection.ends.elements.map(\.error?.code) == [.connectionClosed])
        try connection.finish()
    }

    /// Expects the client to close the connection five seconds from now.
    private func expectEnd(of connection: EmbeddedConnection) {
        connection.loop.advanceTime(by: .seconds(5) - .nanoseconds(1))
        #expect(connection.channel.isActive)
        connection.loop.advanceTime(by: .nanoseconds(1))
        #expect(!connection.channel.isActive)
    }

    @Test("a close before the connection is open cancels the attempt", arguments: [0, 1, 2, 3, 4, 8])
    func closedEarly(ticks: Int) async throws {
        try await withScriptedServer { peer in
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            for _ in 0..<ticks { try await socket.perform { _ in } }
            try await socket.perform { $0.close(code: .normalClosure, reason: "") }
            #expect(await socket.next() == .closed(WebSocketClosure(code: nil)))
            #expect(try await socket.abort() == [])
        }
    }

    @Test("after a loss, the client reports no close code", arguments: [[], serverFrame(1, "cut off").dropLast()])
    func lost(lastBytes: [UInt8]) async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: lastBytes)
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.nextOutcome() == .opened)
            guard case .closed(let closure)? = await socket.nextOutcome() else { return #expect(Bool(false)) }
            #expect(closure.code == nil && closure.error?.code == .connectionClosed)
            #expect(try await socket.abort() == [])
        }
    }

    struct Offence: Sendable {
        var bytes: [UInt8]
        var code: Int
        var error: WebSocketError.Code
    }

    static let offences = [
        Offence(bytes: [0xC1, 0], code: 1002, error: .protocolViolation),
        Offence(bytes: [0x83, 0], code: 1002, error: .protocolViolation),
        Offence(bytes: [0x81, 0x80, 0, 0, 0, 0], code: 1002, error: .protocolViolation),
        Offence(bytes: serverFrame(8, [3]), code: 1002, error: .protocolViolation),
        Offence(bytes: serverFrame(0, "x"), code: 1002, error: .protocolViolation),
        Offence(bytes: serverFrame(1, [0xFF]), code: 1007, error: .invalidText),
        Offence(bytes: [0x82, 126, 0xFF, 0xFF], code: 1009, error: .messageTooBig),
        Offence(bytes: [0x82, 127, 0, 0, 0, 0xFF, 0, 0, 0, 0], code: 1009, error: .messageTooBig),
    ]

    @Test(
        "after a violation, the client reports the earlier messages, and sends the close code of the violation",
        arguments: offences
    )
    func violation(offence: Offence) async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(1, "fine") + offence.bytes)
            let frame = await peer.readFrame()
            #expect(frame?.opcode == 8)
            #expect(frame?.payload.prefix(2) == [UInt8(offence.code >> 8), UInt8(offence.code & 0xFF)])
        } _: { port in
            let socket = try SocketUnderTest(
                port: port,
                options: with(WebSocketOptions()) { $0.maximumMessageSize = 1000 }
            )
            #expect(await socket.nextOutcome() == .opened)
            #expect(await socket.nextOutcome() == .text("fine"))
            guard case .closed(let closure)? = await socket.nextOutcome() else { return #expect(Bool(false)) }
            #expect(closure.code == nil && closure.error?.code == offence.error)
            #expect(try await socket.abort() == [])
        }
    }

    @Test("the client reads the answer to its close frame, even if it has stopped reading messages")
    func closeWithoutReading() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            let frame = await peer.readFrame()
            #expect(frame?.opcode == 8)
            try await peer.write(serverFrame(8, [0x03, 0xE8]))
            // If the server closed the connection, the system would make the client read the rest.
            while await peer.readFrame() != nil {}
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.nextOutcome() == .opened)
            try await socket.perform {
                $0.setReading(false)
                $0.close(code: .normalClosure, reason: "")
            }
            #expect(await socket.nextOutcome() == .closed(WebSocketClosure(code: 1000)))
            _ = try await socket.abort()
        }
    }

    @Test("the client closes the connection at the limit if the server does not read")
    func unreadMessages() async throws {
        let (isOver, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            try await peer.setReading(false)
            for await _ in isOver.prefix(1) {}
        } _: { port in
            let socket = try SocketUnderTest(
                port: port,
                options: with(WebSocketOptions()) { $0.sendBufferSize = 1 << 16 }
            )
            #expect(await socket.nextOutcome() == .opened)
            try await socket.perform {
                // The messages exceed the buffers of the sockets, so the client closes the connection long before the
                // last message.
                for _ in 0..<256 {
                    $0.send(String(repeating: "x", count: 1 << 16), promise: nil)
                    $0.flush()
                }
            }
            guard case .closed(let closure)? = await socket.nextOutcome() else { return #expect(Bool(false)) }
            #expect(closure.error?.code == .sendBufferFull)
            #expect(closure.error?.message.contains("does not read") == true)
            continuation.yield()
        }
    }

    @Test("the receiver can abort the connection during a read")
    func abortFromEvent() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(1, "one") + serverFrame(1, "two"))
            await peer.readToEnd()
        } _: { port in
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            let connection = NIOLoopBoundBox<WebSocketConnection?>.makeEmptyBox(
                valueType: WebSocketConnection.self,
                eventLoop: eventLoop
            )
            let (events, continuation) = AsyncStream.makeStream(of: String.self)
            let transport = WebSocketConnector()
            let request = WebSocketRequest(host: "127.0.0.1", port: port, useTLS: false, path: "/")
            try await eventLoop.submit {
                connection.value = transport.connect(to: request, on: eventLoop) { event in
                    if case .opened = event { return }
                    guard case .text(let text) = event else {
                        continuation.yield("not a text")
                        return
                    }
                    continuation.yield(String(utf8: text))
                    connection.value?.abort()
                    eventLoop.execute { continuation.finish() }
                }
            }.get()
            var count = 0
            for await _ in events { count += 1 }
            #expect(count == 1)
        }
    }

    @Test("the client does not accumulate answers to pings if the server does not read")
    func pingFlood() async throws {
        let (allSent, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            try await peer.setReading(false)
            var pings: [UInt8] = []
            for _ in 0..<1_000 { pings += serverFrame(9, Array(repeating: 0, count: 125)) }
            // The pings exceed the buffers of the sockets, so the sockets cannot hold all answers.
            for _ in 0..<60 { try await peer.write(pings) }
            try await peer.write(serverFrame(9, "last") + serverFrame(1, "end"))
            for await _ in allSent.prefix(1) {}
            try await peer.setReading(true)
            var answers = 0
            var hasLast = false
            while let frame = await peer.readFrame(), frame.opcode != 8 {
                if frame.opcode == 10 { answers += 1 }
                hasLast = hasLast || frame.payload == Array("last".utf8)
            }
            #expect(hasLast)
            #expect(answers < 60_000)
        } _: { port in
            let socket = try SocketUnderTest(port: port)
            #expect(await socket.nextOutcome() == .opened)
            #expect(await socket.nextOutcome() == .text("end"))
            continuation.yield()
            // This message follows the waiting answers. When the system has accepted this message, it also has the last
            // answer, and the server does not have to wait longer.
            try await socket.send("end")
            try await socket.perform { $0.close(code: .normalClosure, reason: "") }
            guard case .closed? = await socket.nextOutcome() else { return #expect(Bool(false)) }
        }
    }
}
