import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@testable import WebSocketClient

@Suite("A WebSocket that reconnects", .limited)
struct ReconnectingWebSocketTests {
    private static let atOnce = with(ReconnectingWebSocket.Options()) {
        $0.connection = with(WebSocketOptions()) {
            $0.connectTimeout = .patience; $0.closeTimeout = .patience
        }; $0.retryPolicy = .delays([.zero]); $0.heartbeat = .off; $0.backOffReset = .zero
    }

    private func url(_ port: Int) -> String { "ws://127.0.0.1:\(port)/" }

    /// Adds an entry, and returns the number of entries.
    private func numbered(_ connections: Log<Void>) -> Int {
        connections.append(())
        return connections.count
    }

    @Test("one sequence delivers the messages of all connections, and a send waits for a connection")
    func reconnects() async throws {
        let connections = Log<Void>()
        let received = Log<[UInt8]>()
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            let number = numbered(connections)
            if number == 1 { received.append(await peer.readFrame()?.payload ?? []) }
            try await peer.write(serverFrame(1, "from \(number)"))
            if number < 3 { return }
            await peer.readToClose()
        } _: { port in
            let webSocket = ReconnectingWebSocket(to: url(port), options: Self.atOnce)
            #expect(webSocket.state == .idle)
            async let early: Void = webSocket.send("early")
            webSocket.connect()
            var messages: [WebSocketMessage] = []
            for try await message in webSocket.messages.prefix(3) { messages.append(message) }
            try await early
            #expect(messages == ["from 1", "from 2", "from 3"])
            #expect(received.elements == [Array("early".utf8)])
            #expect(webSocket.state == .open)
            try await webSocket.closed()
        }
    }

    @Test("the states contain each loss, and end when the WebSocket is closed")
    func states() async throws {
        let connections = Log<Void>()
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            if numbered(connections) == 1 {
                try await peer.write(serverFrame(8, [0x03, 0xF3]))
                await peer.readToClose()
            } else {
                #expect(await peer.readFrame() == .close(4000, "bye"))
                try await peer.write(serverFrame(8, [0x0F, 0xA0]))
            }
        } _: { port in
            let webSocket = ReconnectingWebSocket(to: url(port), options: Self.atOnce)
            var states = webSocket.states.makeAsyncIterator()
            #expect(await states.next() == .idle)
            webSocket.connect()
            #expect(await states.next() == .connecting(attempt: 1))
            #expect(await states.next() == .open)
            guard case .waiting(_, 2, let reason)? = await states.next() else {
                Issue.record("the loss is not told")
                return
            }
            #expect(reason.code == .connectionClosed && reason.closeCode == 1011)
            #expect(await states.next() == .connecting(attempt: 2))
            #expect(await states.next() == .open)
            let closure = try await webSocket.closed(code: 4000, reason: "bye")
            #expect(closure == WebSocketClosure(code: 4000))
            #expect(await states.next() == .closing)
            #expect(await states.next() == .closed(nil))
            #expect(webSocket.closure == closure)
            #expect(await states.next() == nil)
            #expect(try await webSocket.messages.first { _ in true } == nil)
            await #expect(throws: WebSocketError.self) { try await webSocket.send("late") }
        }
    }

    @Test(
        "the client replaces a connection on which the heartbeat gets no answer",
        arguments: [true, false]
    )
    func heartbeat(isText: Bool) async throws {
        let connections = Log<Void>()
        let (heartbeats, heartbeat) = AsyncStream.makeStream(of: ScriptedPeer.Frame?.self)
        let interval = Duration.milliseconds(1)
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            if numbered(connections) == 1 {
                // On the first connection, the server does not answer the heartbeat.
                heartbeat.yield(await peer.readFrame())
                await peer.readToClose()
            } else {
                try await peer.write(serverFrame(1, "alive"))
                await peer.readToClose()
            }
        } _: { port in
            var options = Self.atOnce
            options.heartbeat =
                isText
                ? .text("beat", interval: interval, timeout: interval) : .ping(interval: interval, timeout: interval)
            let webSocket = ReconnectingWebSocket(to: url(port), options: options)
            webSocket.connect()
            let first = try await webSocket.messages.first { _ in true }
            #expect(first == "alive")
            let expected =
                isText ? ScriptedPeer.Frame(opcode: 1, payload: Array("beat".utf8)) : .init(opcode: 9, payload: [])
            #expect(await heartbeats.first { _ in true } == .some(expected))
        }
    }

    @Test("after a suspension, the client notices the end of a wait within seconds")
    func suspension() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let suspended = NIOLockedValueBox(Duration.zero)
        var options = ReconnectingWebSocket.Options()
        options.retryPolicy = .delays([.seconds(3_600)])
        let origin = ContinuousClock.now
        let clock: @Sendable () -> ContinuousClock.Instant = {
            origin + .nanoseconds(Int64(loop.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 }
        }
        let attempts = Log<Void>()
        let session = ReconnectingSession(options, on: loop, clock: clock) {
            attempts.append(())
            throw CancellationError()
        } _: { _, _, _ in
            fatalError("The request fails, so there is no connection.")
        }
        func waitForWait(before attempt: Int) async {
            for await state in session.states() {
                if case .waiting(_, let next, _) = state, next == attempt { return }
            }
        }
        session.connect()
        await waitForWait(before: 2)
        await loop.advanceTime(by: .seconds(600))
        #expect(attempts.count == 1)
        suspended.withLockedValue { $0 += .seconds(3_000) }
        await loop.advanceTime(by: .seconds(5))
        await waitForWait(before: 3)
        #expect(attempts.count == 2)
        session.close(code: .normalClosure, reason: "")
        _ = try await session.closed(within: nil)
    }

    @Test(
        "the error of a refused upgrade has the response, even if the response does not end",
        arguments: [true, false]
    )
    func refusal(endsResponse: Bool) async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write(
                "HTTP/1.1 429 No\r\nRetry-After: 7\r\nContent-Length: \(endsResponse ? 9 : 90)\r\n\r\nno tokens"
            )
            await peer.readToClose()
        } _: { port in
            // A response that does not end would take until this limit.
            let options = with(WebSocketOptions()) {
                $0.connectTimeout = .patience; $0.closeTimeout = endsResponse ? .patience : .milliseconds(50)
            }
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocket.connect(to: url(port), options: options)
            }
            #expect(error?.httpStatus == 429)
            #expect(error?.response?.header("Retry-After") == "7")
            #expect(error?.response?.bodyText == "no tokens")
        }
    }

    @Test("the error of a refused upgrade has the body if the server closes the connection at its end")
    func refusalUntilClose() async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write("HTTP/1.1 503 No\r\n\r\nmaintenance")
        } _: { port in
            let options = with(WebSocketOptions()) {
                $0.connectTimeout = .patience; $0.closeTimeout = .patience
            }
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocket.connect(to: url(port), options: options)
            }
            #expect(error?.httpStatus == 503)
            #expect(error?.response?.bodyText == "maintenance")
        }
    }

    @Test("the client calls the closure for each attempt, and stops when the policy returns nil")
    func request() async throws {
        struct StopIfForbidden: RetryPolicy {
            func delay(for context: RetryContext) -> Duration? {
                (context.reason as? WebSocketError)?.httpStatus == 403 ? nil : .zero
            }
        }
        let tokens = Log<Void>()
        let seen = Log<String>()
        try await withScriptedServer { peer in
            let request = await peer.readUpgrade()
            seen.append(request.split(separator: "\r\n").first { $0.hasPrefix("Token") }.map(String.init) ?? "none")
            try await peer.write("HTTP/1.1 \(seen.count < 3 ? 500 : 403) No\r\nContent-Length: 0\r\n\r\n")
            await peer.readToClose()
        } _: { port in
            var options = Self.atOnce
            options.retryPolicy = StopIfForbidden()
            let webSocket = ReconnectingWebSocket(options: options) {
                try WebSocketRequest(
                    url: url(port),
                    headers: ["Token": "\(numbered(tokens))"]
                )
            }
            webSocket.connect()
            let error = await #expect(throws: WebSocketError.self) {
                for try await _ in webSocket.messages {}
            }
            #expect(error?.httpStatus == 403)
            #expect(seen.elements == ["Token: 1", "Token: 2", "Token: 3"])
            #expect(webSocket.state == .closed(error))
            #expect(webSocket.closure?.error == error)
        }
    }

    @Test("the client cancels a waiting message, and rejects too many messages, and stops because of invalid options")
    func waiting() async throws {
        var options = Self.atOnce
        let webSocket = ReconnectingWebSocket(to: "ws://127.0.0.1:9/", options: options)
        let waiting = Task { try await webSocket.send("waits") }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await webSocket.closed()

        options.maximumQueuedMessages = 0
        let full = ReconnectingWebSocket(to: "ws://127.0.0.1:9/", options: options)
        let error = await #expect(throws: WebSocketError.self) { try await full.send("one") }
        #expect(error?.code == .sendQueueFull)

        options.connection.tls.pins = ["nothing"]
        let header = HTTPHeader(name: "X", value: "hush\n")
        for (webSocket, code) in [
            (ReconnectingWebSocket(to: "wss://a.test", options: options), WebSocketError.Code.invalidOption),
            (ReconnectingWebSocket(to: "ws://a.test", headers: [header]), .invalidOption),
            (ReconnectingWebSocket(to: "a.test"), .invalidURL), (ReconnectingWebSocket(to: "ws://a b"), .invalidURL),
        ] {
            let error = await #expect(throws: WebSocketError.self) { try await webSocket.connected() }
            #expect(error?.code == code && error.map { "\($0)".contains("hush") } == false)
            #expect(webSocket.state == .closed(error))
        }
    }

    @Test("sends opening messages before waiting messages, and fails with an invalid request")
    func opening() async throws {
        let received = Log<String>()
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            for _ in 1...2 {
                received.append(await peer.readFrame().map { String(decoding: $0.payload, as: UTF8.self) } ?? "")
            }
            try await peer.write(serverFrame(1, "done"))
            await peer.readToClose()
        } _: { port in
            var options = Self.atOnce
            options.openingMessages = { ["log in"] }
            let webSocket = ReconnectingWebSocket(to: url(port), options: options)
            async let early: Void = webSocket.send("early")
            webSocket.connect()
            #expect(try await webSocket.messages.first { _ in true } == "done")
            try await early
            #expect(received.elements == ["log in", "early"])
            try await webSocket.closed()
        }
        let unusable = ReconnectingWebSocket(options: Self.atOnce) { WebSocketRequest(host: "a b") }
        unusable.connect()
        let error = await #expect(throws: WebSocketError.self) { try await unusable.messages.first { _ in true } }
        #expect(error?.code == .invalidHost)
    }

    @Test("close() returns an error if the server does not answer the close frame")
    func unansweredClose() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            await peer.readToEnd()
        } _: { port in
            var options = Self.atOnce
            options.connection.closeTimeout = .milliseconds(1)
            let webSocket = ReconnectingWebSocket(to: url(port), options: options)
            webSocket.connect()
            _ = await webSocket.states.first { $0 == .open }
            #expect(try await webSocket.closed().error?.code == .connectionClosed)
            #expect(try await webSocket.messages.first { _ in true } == nil)
            let single = try await WebSocket.connect(to: url(port), options: options.connection)
            #expect(try await single.closed().error?.code == .connectionClosed)
            #expect(try await single.messages.first { _ in true } == nil)
        }
    }

    @Test("releasing the WebSocket closes the connection")
    func released() async throws {
        try await withScriptedServer { peer in
            try await peer.acceptUpgrade()
            try await peer.write(serverFrame(1, "one"))
            #expect(await peer.readFrame() == .close(1001))
        } _: { port in
            var webSocket: ReconnectingWebSocket? = ReconnectingWebSocket(to: url(port), options: Self.atOnce)
            webSocket?.connect()
            let first = try await webSocket?.messages.first { _ in true }
            #expect(first == "one")
            webSocket = nil
        }
    }
}
