import NIOCore
import NIOPosix
import SocketTestSupport
import TestSupport
import TestTraits
import Testing
import WebSocketClient

@Suite("A WebSocket", .limited)
struct WebSocketTests {
    /// Options with timeouts that do not expire even on a slow machine.
    private static let patient = with(WebSocketOptions()) {
        $0.connectTimeout = .patience; $0.closeTimeout = .patience
    }

    private func url(_ port: Int) -> String { "ws://127.0.0.1:\(port)/chat?room=1" }

    @Test("the client sends and receives text and bytes, and offers subprotocols")
    func messages() async throws {
        try await withScriptedServer { peer in
            let request = await peer.readUpgrade()
            #expect(request.hasPrefix("GET /chat?room=1 HTTP/1.1\r\n"))
            #expect(request.contains("\r\nSec-WebSocket-Protocol: v2, v1\r\n"))
            #expect(request.contains("\r\nX-Token: secret\r\n"))
            try await peer.write(acceptance(of: request, extra: "Sec-WebSocket-Protocol: v1\r\n"))
            while let frame = await peer.readFrame(), frame.opcode != 8 {
                try await peer.write(serverFrame(frame.opcode, frame.payload))
            }
            try await peer.write(serverFrame(8, [0x03, 0xE8]))
        } _: { port in
            let webSocket = try await WebSocket.connect(
                to: url(port),
                subprotocols: ["v2", "v1"],
                headers: ["X-Token": "secret"],
                options: Self.patient
            )
            #expect(webSocket.subprotocol == "v1")
            var messages = webSocket.messages.makeAsyncIterator()
            try await webSocket.send("Grüße")
            try await webSocket.send([1, 2, 3])
            #expect(try await messages.next() == .text("Grüße"))
            #expect(try await messages.next() == .binary([1, 2, 3]))
            #expect(webSocket.closure == nil)
            #expect(try await webSocket.closed() == WebSocketClosure(code: 1000))
            #expect(try await messages.next() == nil)
            let error = await #expect(throws: WebSocketError.self) { try await webSocket.send("late") }
            #expect(error?.code == .connectionClosed)
            #expect(try await webSocket.closed() == WebSocketClosure(code: 1000))
        }
    }

    @Test("60 concurrent sends of 1 MB arrive at a server that reads", arguments: [false, true])
    func concurrentSends(reconnecting: Bool) async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            // A header of this size of a frame has 14 bytes.
            let isComplete = await peer.skip(60 * 1_000_014)
            try await peer.write(serverFrame(1, "\(isComplete)"))
            await peer.readToClose()
        } _: { port in
            let message = [UInt8](repeating: 7, count: 1_000_000)
            var options = with(ReconnectingWebSocket.Options()) { $0.connection = Self.patient }
            options.connection.sendTimeout = .patience
            options.maximumQueuedBytes = 60_000_000
            let client = ReconnectingWebSocket(to: url(port), options: options)
            let webSocket: WebSocket?
            if reconnecting {
                client.connect()
                webSocket = nil
            } else {
                webSocket = try await WebSocket.connect(to: url(port), options: options.connection)
            }
            try await withThrowingTaskGroup { group in
                for _ in 1...60 {
                    group.addTask {
                        if let webSocket { try await webSocket.send(message) } else { try await client.send(message) }
                    }
                }
                try await group.waitForAll()
            }
            var messages = (webSocket?.messages ?? client.messages).makeAsyncIterator()
            #expect(try await messages.next() == .text("true"))
        }
    }

    @Test("if the server does not read, all unsent messages fail with the code sendBufferFull")
    func unreadSends() async throws {
        let (isOver, continuation) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            try await peer.setReading(false)
            for await _ in isOver.prefix(1) {}
        } _: { port in
            var options = Self.patient
            (options.sendBufferSize, options.sendTimeout) = (4 << 20, .milliseconds(50))
            let webSocket = try await WebSocket.connect(to: url(port), options: options)
            let message = [UInt8](repeating: 7, count: 1 << 20)
            let codes = await withTaskGroup { group in
                for _ in 1...64 {
                    group.addTask {
                        do throws(WebSocketError) {
                            try await webSocket.send(message)
                            return nil as WebSocketError.Code?
                        } catch {
                            return error.code
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            // The buffers of the system take some messages.
            #expect(codes.count { $0 == .sendBufferFull } > 32)
            #expect(codes.allSatisfy { $0 == nil || $0 == .sendBufferFull })
            let closure = try await webSocket.closed()
            #expect(closure.error?.code == .sendBufferFull)
            continuation.yield()
        }
    }

    @Test("measures the time until the server answers a ping, and throws if the connection closes first")
    func ping() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            let ping = await peer.readFrame()
            #expect(ping?.opcode == 9)
            // The server answers another ping first.
            try await peer.write(
                serverFrame(10, "other") + serverFrame(10, "12345678") + serverFrame(10, ping?.payload ?? [])
            )
            _ = await peer.readFrame()
        } _: { port in
            let webSocket = try await WebSocket.connect(to: url(port), options: Self.patient)
            #expect(try await webSocket.ping() > .zero)
            // The server closes the connection instead of answering.
            await #expect(throws: WebSocketError.self) { try await webSocket.ping() }
        }
    }

    @Test("a closing handshake with a code of the app ends the sequence without an error")
    func closedByServer() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(
                followedBy: serverFrame(1, "last") + serverFrame(8, [0x0F, 0xA1] + Array("bye".utf8))
            )
            await peer.readToClose()
        } _: { port in
            let webSocket = try await WebSocket.connect(to: url(port), options: Self.patient)
            var received: [WebSocketMessage] = []
            for try await message in webSocket.messages { received.append(message) }
            #expect(received == ["last"])
            #expect(webSocket.closure == WebSocketClosure(code: 4001, reason: "bye"))
        }
    }

    @Test("after a loss or a violation, the sequence delivers the earlier messages and then throws")
    func lost() async throws {
        for (bytes, code) in [([], .connectionClosed), (serverFrame(0x3), .protocolViolation)]
            as [([UInt8], WebSocketError.Code)]
        {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(followedBy: serverFrame(1, "last") + bytes)
            } _: { port in
                let webSocket = try await WebSocket.connect(to: url(port), options: Self.patient)
                var messages = webSocket.messages.makeAsyncIterator()
                #expect(try await messages.next() == "last")
                let error = await #expect(throws: WebSocketError.self) { try await messages.next() }
                #expect(error?.code == code)
                #expect(try await messages.next() == nil)
                #expect(webSocket.closure?.error?.code == code)
            }
        }
    }

    @Test("while no task takes messages, the client stops reading, and loses no message")
    func backPressure() async throws {
        let count = 400
        let payload = [UInt8](repeating: 7, count: 100_000)
        let sent = Log<Int>()
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            for number in 1...count {
                try await peer.write(serverFrame(2, payload))
                sent.append(number)
            }
            try await peer.write(serverFrame(8, [0x03, 0xE8]))
            await peer.readToClose()
        } _: { port in
            let webSocket = try await WebSocket.connect(
                to: url(port),
                options: with(WebSocketOptions()) {
                    $0.connectTimeout = .patience; $0.receiveBufferSize = 200_000
                }
            )
            var received = 0
            for try await message in webSocket.messages {
                if received == 0 { await waitUntil { webSocket.isPaused } }
                // The system's buffers have less than 40 MB, so the server has to wait.
                if received == 0 { #expect(sent.count < count) }
                #expect(message == .binary(payload))
                received += 1
            }
            #expect(received == count)
        }
    }

    @Test("releasing the last reference to the WebSocket and its messages closes the connection")
    func released() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(1, "one"))
            #expect(await peer.readFrame() == .close(1001))
        } _: { port in
            var messages: WebSocketMessages? = try await WebSocket.connect(to: url(port), options: Self.patient)
                .messages
            for try await message in try #require(messages) {
                #expect(message == "one")
                break
            }
            messages = nil
        }
    }

    @Test("the error of a refused upgrade contains its status, and invalid values throw before any write")
    func refused() async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
            await peer.readToClose()
        } _: { port in
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocket.connect(to: url(port), options: Self.patient)
            }
            #expect(error?.code == .upgradeFailed && error?.httpStatus == 401)
        }
        let request = try WebSocketRequest(
            url: "wss://me:hush@example.com/chat?token=hush",
            headers: ["X-Token": "hush"]
        )
        var shown = "\(request) \(String(reflecting: request)) \(request.headers)"
        dump(request, to: &shown)
        #expect(shown.contains("wss://example.com:443/chat") && !shown.contains("hush"), "\(shown)")
        #expect(request.headers.last == .init(name: "Authorization", value: "Basic bWU6aHVzaA=="))
        for url in ["ftp://example.com", "example.com", "ws://", "ws://me:hush@/x", "ws://a b/", "ws://me:hu?sh@a b/x"]
        {
            let error = await #expect(throws: WebSocketError.self) { try await WebSocket.connect(to: url) }
            #expect(error?.code == .invalidURL, "\(url)")
            #expect(error?.message.contains("hu") == false)
        }
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            await peer.readToClose()
        } _: { port in
            let webSocket = try await WebSocket.connect(to: url(port), options: Self.patient)
            for code in [0, 999, 1005, 1006, 1015, 2000, 5000] {
                let error = await #expect(throws: WebSocketError.self) {
                    try await webSocket.closed(code: .init(rawValue: code))
                }
                #expect(error?.code == .invalidCloseCode)
            }
            #expect(webSocket.closure == nil)
        }
    }

    @Test("many simultaneous attempts all succeed")
    func many() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(1, "one"))
            await peer.readToClose()
        } _: { port in
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 1...100 {
                    group.addTask {
                        let webSocket = try await WebSocket.connect(
                            to: url(port),
                            options: Self.patient
                        )
                        #expect(try await webSocket.messages.first { _ in true } == "one")
                    }
                }
            }
        }
    }

    @Test("an attempt ends after its timeout, and when its task is cancelled")
    func attemptEnds() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            arrival.yield()
            await peer.readToClose()
        } _: { port in
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocket.connect(
                    to: url(port),
                    options: with(WebSocketOptions()) { $0.connectTimeout = .milliseconds(1) }
                )
            }
            #expect(error?.code == .connectionTimedOut)
            let attempt = Task {
                try await WebSocket.connect(to: url(port), options: Self.patient)
            }
            await arrivals.first { _ in true }
            attempt.cancel()
            await #expect(throws: CancellationError.self) { try await attempt.value }
        }
    }

    @Test("after the cancellation of a waiting task, another task gets the message")
    func cancelledConsumer() async throws {
        let (go, goes) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            await go.first { _ in true }
            try await peer.write(serverFrame(1, "for the other"))
            await peer.readToClose()
        } _: { port in
            let webSocket = try await WebSocket.connect(to: url(port), options: Self.patient)
            let cancelled = Task { try await webSocket.messages.first { _ in true } }
            cancelled.cancel()
            #expect(try await cancelled.value == nil)
            goes.yield()
            #expect(try await webSocket.messages.first { _ in true } == "for the other")
        }
    }
}
