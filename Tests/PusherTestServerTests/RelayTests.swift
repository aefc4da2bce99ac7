import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("The relay, and its effects on connections", .limited)
struct RelayTests {
    @Test("the relay passes on many megabytes in both directions at once, and then the end of the connection")
    func passesOn() async throws {
        var generator = SeededGenerator(seed: 7)
        let bytes = (0..<(4 << 20)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let other = Array(bytes.reversed())
        try await withRelay { relay, client, server in
            async let up = server.read(bytes.count)
            async let down = client.read(other.count)
            client.write(bytes)
            server.write(other)
            #expect(await up == bytes)
            #expect(await down == other)
            let connection = try #require(relay.connections.first)
            #expect(connection.openingBytes == Array(bytes.prefix(16)))
            #expect(connection.receivedFromClient == bytes.count && connection.receivedFromServer == other.count)
            #expect(relay.openConnectionCount == 1)
            server.close()
            #expect(await client.readToEnd() == [])
            try await relay.waitForOpenConnections(count: 0, timeout: .patience)
            #expect(relay.connections.first?.isOpen == false)
        }
    }

    @Test("the relay drops swallowed bytes in one direction, and passes on the end of a connection after the fault")
    func swallowed() async throws {
        try await withRelay { relay, client, server in
            relay.fail(.toClient, with: .swallowed)
            server.write("lost")
            try await relay.nextConnection(timeout: .patience) { $0.swallowed == 4 }
            client.write("heard")
            #expect(await server.read(5) == Array("heard".utf8))
            server.close()
            // Only the relay notices the end of the server's side.
            try await relay.nextConnection(timeout: .patience) { $0.receivedFromClient == 5 && $0.isOpen }
            relay.passOn(.toClient)
            #expect(await client.readText() == "")
            try await relay.waitForOpenConnections(count: 0, timeout: .patience)
        }
    }

    @Test("held bytes are lost when the connection is reset")
    func heldForEver() async throws {
        try await withRelay { relay, client, server in
            relay.fail(.toServer, with: .held)
            client.write("few")
            try await relay.nextConnection(timeout: .patience) { $0.receivedFromClient == 3 }
            relay.resetConnections()
            #expect(await server.readToEnd() == [])
            #expect(server.isReset)
        }
    }

    @Test("held bytes stay with the sender, and arrive completely after the fault")
    func held() async throws {
        let bytes = [UInt8](repeating: 7, count: 32 << 20)
        try await withRelay { relay, client, server in
            relay.fail(.toServer, with: .held)
            client.write(bytes)
            server.write("answer")
            #expect(await client.read(6) == Array("answer".utf8))
            let received = try #require(relay.connections.first).receivedFromClient
            #expect(received < bytes.count)
            relay.passOn()
            #expect(await server.read(bytes.count) == bytes)
        }
    }

    @Test("delayed and trickled bytes arrive in order, before later bytes")
    func order() async throws {
        try await withRelay { relay, client, server in
            relay.fail(with: .delayed(.milliseconds(50)))
            client.write("one ")
            try await relay.nextConnection(timeout: .patience) { $0.receivedFromClient == 4 }
            relay.fail(with: .trickled(every: .microseconds(100)))
            client.write("two ")
            try await relay.nextConnection(timeout: .patience) { $0.receivedFromClient == 8 }
            relay.passOn()
            client.write("three")
            client.endOutput()
            #expect(await server.readText() == "one two three")
        }
    }

    @Test("the relay trickles bytes of separate writes at the requested pace, after a delayed byte")
    func pace() async throws {
        try await withRelay { relay, client, server in
            relay.fail(.toServer, with: .delayed(.milliseconds(200)))
            let clock = ContinuousClock()
            let start = clock.now
            client.write("0")
            try await relay.nextConnection(timeout: .patience) { $0.receivedFromClient == 1 }
            relay.fail(.toServer, with: .trickled(every: .milliseconds(100)))
            // The pace begins with the next byte that the relay passes on, even if this byte was delayed.
            let fault = clock.now
            for count in 2...6 {
                client.write("1")
                try await relay.nextConnection(timeout: .patience) { $0.receivedFromClient == count }
            }
            #expect(await server.read(1) == Array("0".utf8))
            #expect(clock.now - start >= .milliseconds(200))
            #expect(await server.read(5).count == 5)
            #expect(clock.now - fault >= .milliseconds(400))
        }
    }

    @Test("bytes that an earlier fault delayed still arrive")
    func delayedBeforeSwallowed() async throws {
        try await withRelay { relay, client, server in
            relay.fail(.toServer, with: .delayed(.milliseconds(50)))
            client.write("heard")
            try await relay.nextConnection(timeout: .patience) { $0.receivedFromClient == 5 }
            relay.fail(.toServer, with: .swallowed)
            client.write("lost")
            try await relay.nextConnection(timeout: .patience) { $0.swallowed == 4 }
            #expect(await server.read(5) == Array("heard".utf8))
        }
    }

    @Test("the relay changes each nth byte, counted from the beginning of the fault")
    func corrupted() async throws {
        try await withRelay { relay, client, server in
            client.write([1, 2, 3])
            #expect(await server.read(3) == [1, 2, 3])
            relay.fail(.toServer, with: .corrupted(every: 3))
            client.write([1, 2])
            #expect(await server.read(2) == [1, 2])
            client.write([3, 4, 5, 6])
            #expect(await server.read(4) == [~3, 4, 5, ~6])
            relay.fail(.toServer, with: .corrupted(every: -1))
            client.write([0, 255])
            #expect(await server.read(2) == [255, 0])
            server.write([1, 2, 3])
            #expect(await client.read(3) == [1, 2, 3])
        }
    }

    @Test("the relay closes both sides when the client is idle for too long, also without any bytes of the client")
    func idleLimit() async throws {
        try await withRelay { relay, client, server in
            relay.limitIdleTime(to: .seconds(3_600))
            client.write("up")
            #expect(await server.read(2) == Array("up".utf8))
            server.write("down")
            #expect(await client.read(4) == Array("down".utf8))
            relay.limitIdleTime(to: .milliseconds(20))
            #expect(await client.readToEnd() == [])
            #expect(await server.readToEnd() == [])
            try await relay.waitForOpenConnections(count: 0, timeout: .patience)
            // The limit also ends a new connection that sends nothing.
            let next = try await ByteConnection.connect(port: relay.port)
            #expect(await next.readToEnd() == [])
            next.close()
        }
    }

    @Test("the relay closes, resets or ignores the requested number of new connections")
    func connectionFaults() async throws {
        try await ByteConnection.withListener { port, servers in
            let relay = PusherTestRelay(options: .init(serverPort: port))
            try await relay.start()
            relay.failConnections(1, with: .closed)
            relay.failConnections(1, with: .reset)
            relay.failConnections(1, with: .silent)
            for _ in 1...2 { #expect(await (try? ByteConnection.connect(port: relay.port))?.readToEnd() ?? [] == []) }
            let silent = try await ByteConnection.connect(port: relay.port)
            silent.write("hello")
            try await relay.nextConnection(timeout: .patience) { $0.openingBytes == Array("hello".utf8) }
            var incoming = servers.makeAsyncIterator()
            let client = try await ByteConnection.connect(port: relay.port)
            let server = try #require(await incoming.next())
            client.write("hello")
            #expect(await server.read(5) == Array("hello".utf8))
            #expect(relay.connections.map(\.fault) == [.closed, .reset, .silent, nil])
            silent.close()
            client.close()
            try await relay.waitForOpenConnections(count: 0, timeout: .patience)
            await relay.shutdown()
        }
    }

    @Test(
        "the relay drops or resets both sides, and stopListening only affects new connections"
    )
    func ends() async throws {
        try await ByteConnection.withListener { port, servers in
            var options = PusherTestRelay.Options(serverPort: port)
            options.host = LoopbackAddress.ofItsOwn()
            let relay = PusherTestRelay(options: options)
            try await relay.start()
            var incoming = servers.makeAsyncIterator()
            for round in 0..<2 {
                let client = try await ByteConnection.connect(host: relay.host, port: relay.port)
                let server = try #require(await incoming.next())
                client.write("x")
                #expect(await server.read(1).count == 1)
                await relay.stopListening()
                await #expect(throws: (any Error).self) {
                    try await ByteConnection.connect(host: relay.host, port: relay.port)
                }
                client.write("y")
                #expect(await server.read(1).count == 1)
                if round == 0 { relay.dropConnections() } else { relay.resetConnections() }
                #expect(await client.readToEnd() == [])
                #expect(await server.readToEnd() == [])
                #expect(client.isReset == (round == 1))
                #expect(server.isReset == (round == 1))
                try await relay.waitForOpenConnections(count: 0, timeout: .patience)
                let relayPort = relay.port
                try await relay.start()
                #expect(relay.port == relayPort)
            }
            await relay.shutdown()
        }
    }

    @Test("the relay closes clients' connections if it cannot reach the server, or when the app releases the relay")
    func ending() async throws {
        let lonely = PusherTestRelay(options: .init(serverHost: "127.77.0.1", serverPort: 9))
        try await lonely.start()
        #expect(await (try? ByteConnection.connect(port: lonely.port))?.readToEnd() ?? [] == [])
        await lonely.shutdown()
        try await ByteConnection.withListener { port, servers in
            var relay: PusherTestRelay? = PusherTestRelay(options: .init(serverPort: port))
            try await relay?.start()
            var incoming = servers.makeAsyncIterator()
            let client = try await ByteConnection.connect(port: try #require(relay).port)
            let server = try #require(await incoming.next())
            relay = nil
            #expect(await client.readToEnd() == [])
            #expect(await server.readToEnd() == [])
        }
    }

    private static let upgrade =
        "GET /app/app-key HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUPGRADE: WebSocket\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    @Test("the relay swallows, answers or resets split WebSocket upgrades, and relays other requests")
    func blockedUpgrades() async throws {
        try await PusherTestServer.withServer { server in
            try await PusherTestRelay.withRelay(to: server) { relay in
                let client = { try await ByteConnection.connect(port: relay.port) }
                for (status, line) in [(400, "HTTP/1.1 400 Bad Request"), (426, "HTTP/1.1 426 Upgrade Required")] {
                    relay.blockUpgrades(with: .answered(status: status))
                    let blocked = try await client()
                    blocked.write(Self.upgrade)
                    #expect(await blocked.readHead().first == line)
                    #expect(await blocked.readText().isEmpty)
                }
                relay.blockUpgrades(with: .reset)
                let reset = try await client()
                for byte in Self.upgrade.utf8 { reset.write([byte]) }
                #expect(await reset.readText().isEmpty && reset.isReset)
                relay.blockUpgrades(with: .swallowed)
                let swallowed = try await client()
                swallowed.write(Self.upgrade)
                try await relay.nextConnection(timeout: .patience) { $0.upgradeFault == .swallowed && $0.isOpen }
                swallowed.write("more")
                try await relay.nextConnection(timeout: .patience) { $0.swallowed == 4 }
                let other = try await client()
                for byte in "GET /nothing HTTP/1.1\r\nHost: localhost\r\nX: websocket\r\nConnection: close\r\n\r\n".utf8
                {
                    other.write([byte])
                }
                #expect(await other.readHead().first == "HTTP/1.1 404 Not Found")
                let poll = try await client()
                poll.write(
                    "POST /app/app-key/1/a/xhr HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                #expect(await poll.readText().hasSuffix("\r\n\r\n2\r\no\n\r\n0\r\n\r\n"))
                let noHTTP = try await client()
                noHTTP.write([22, 3, 1])
                #expect(await noHTTP.readHead().first == "HTTP/1.1 400 Bad Request")
                #expect(
                    server.records.allSatisfy { record in
                        if case .connectionRequested(let request) = record.event {
                            request.method == "POST"
                        } else {
                            true
                        }
                    }
                )
                relay.blockUpgrades(with: nil)
                let allowed = try await client()
                allowed.write(Self.upgrade)
                #expect(await allowed.readHead().first == "HTTP/1.1 101 Switching Protocols")
                allowed.close()
                swallowed.close()
            }
        }
    }

    /// Runs `body` with a relay and both ends of one connection through the relay.
    private func withRelay(
        _ body: (PusherTestRelay, _ client: ByteConnection, _ server: ByteConnection) async throws -> Void
    ) async throws {
        try await ByteConnection.withListener { port, servers in
            let relay = PusherTestRelay(options: .init(serverPort: port))
            try await relay.start()
            let client = try await ByteConnection.connect(port: relay.port)
            var incoming = servers.makeAsyncIterator()
            let server = try #require(await incoming.next())
            try await body(relay, client, server)
            client.close()
            server.close()
            await relay.shutdown()
        }
    }
}
