import NIOCore
import NIOHTTP1
import NIOSSL
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@testable import ProxyTestSupport
@testable import PusherTestServer

@Suite("Tunnels through the proxy", .limited)
struct ProxyTunnelTests {
    @Test("the proxy tunnels a WebSocket to a host name that only the proxy knows", arguments: ["127.0.0.1", "::1"])
    func webSocket(host: String) async throws {
        var options = PusherTestServer.Options()
        options.host = host
        var proxyOptions = TestProxy.Options()
        proxyOptions.host = host
        proxyOptions.hosts["ws.example.test"] = host
        options.allowedHosts = ["ws.example.test"]
        try await withServerAndProxy(options: options, proxyOptions: proxyOptions) { server, proxy in
            let client = try await SocketClient.connect(to: server, through: proxy, as: "WS.example.test")
            _ = try await client.socketID()
            client.send(Envelope.ping.jsonText)
            #expect(await client.next() == .text(Dialect.pusher.pong))
            let request = try await proxy.nextRequest(timeout: .patience)
            #expect(
                request
                    == TestProxy.Request(
                        index: 0,
                        method: "CONNECT",
                        host: "WS.example.test",
                        port: server.port,
                        isAuthorized: true,
                        status: 200
                    )
            )
            #expect(proxy.openTunnelCount == 1)
            server.dropConnections()
            #expect(await client.next() == .end)
            try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
        }
    }

    @Test("the proxy tunnels TLS for a WebSocket and for HTTP")
    func tls() async throws {
        let certificates = TestCertificates()
        var options = PusherTestServer.Options()
        options.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        var proxyOptions = TestProxy.Options()
        proxyOptions.credentials = .init(username: "ada", password: "a:b c")
        try await withServerAndProxy(options: options) { server, proxy in
            let client = try await SocketClient.connect(
                to: server,
                trusting: certificates.rootPEM,
                through: proxy
            )
            _ = try await client.socketID()
            client.send(Envelope.ping.jsonText)
            #expect(await client.next() == .text(Dialect.pusher.pong))
        }
        try await withServerAndProxy(options: options, proxyOptions: proxyOptions) { server, proxy in
            let credentials = HTTPProxy.Credentials(username: "ada", password: "a:b c")
            let client = PooledHTTPRequester.patient(
                tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)),
                proxies: ProxyRules(.server(host: proxy.host, port: proxy.port, credentials: credentials))
            )
            let request = HTTPRequest.to("https://localhost:\(server.port)/no/such/path", method: "GET", body: nil)
            #expect(try await client.status(request) == 404)
            client.shutdown()
            #expect(proxy.requests.map(\.status) == [200] && proxy.requests.map(\.isAuthorized) == [true])
            try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
        }
    }

    @Test("the proxy loses no byte after a split head, and passes on the end of the connection")
    func earlyBytes() async throws {
        try await TestProxy.withProxy { proxy in
            try await ByteConnection.withListener { port, origins in
                var incoming = origins.makeAsyncIterator()
                let client = try await ByteConnection.connect(port: proxy.port)
                client.write(tunnelRequest(port) + "early")
                client.endOutput()
                let origin = try #require(await incoming.next())
                #expect(await origin.readText() == "early")
                // The other half of the tunnel stays open.
                #expect(await client.readHead() == ["HTTP/1.1 200 Connection established"])
                origin.write("late")
                origin.endOutput()
                #expect(await client.readText() == "late")
                try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)

                let slow = try await ByteConnection.connect(port: proxy.port)
                for byte in ("\r\n" + tunnelRequest(port, "X: \r\n") + "\r\n\r\nx").utf8 { slow.write([byte]) }
                let second = try #require(await incoming.next())
                #expect(await second.read(5) == Array("\r\n\r\nx".utf8))
                second.close()
                _ = await slow.readHead()
                #expect(await slow.readToEnd() == [])
                slow.close()
                try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
            }
        }
    }

    @Test("two tunnels carry many megabytes in both directions at once")
    func largeTransfer() async throws {
        var generator = SeededGenerator(seed: 7)
        let bytes = (0..<(6 << 20)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let other = Array(bytes.reversed())
        try await TestProxy.withProxy { proxy in
            try await ByteConnection.withListener { port, origins in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    var incoming = origins.makeAsyncIterator()
                    for _ in 1...2 {
                        let client = try await ByteConnection.connect(port: proxy.port)
                        client.write(Array(tunnelRequest(port).utf8) + bytes)
                        let origin = try #require(await incoming.next())
                        origin.write(other)
                        group.addTask {
                            _ = await client.readHead()
                            client.endOutput()
                            #expect(await client.readToEnd() == other)
                        }
                        group.addTask {
                            #expect(await origin.read(bytes.count) == bytes)
                            origin.endOutput()
                            #expect(await origin.readToEnd() == [])
                        }
                    }
                    try await group.waitForAll()
                }
                try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
            }
        }
    }

    @Test("the proxy drops both sides of tunnels and accepts new tunnels")
    func dropTunnels() async throws {
        try await withServerAndProxy { server, proxy in
            let first = try await SocketClient.connect(to: server, through: proxy)
            _ = try await first.socketID()
            let second = try await SocketClient.connect(to: server, through: proxy)
            _ = try await second.socketID()
            #expect(proxy.openTunnelCount == 2)
            proxy.dropTunnels()
            #expect(await first.next() == .end)
            #expect(await second.next() == .end)
            try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
            try await server.nextRecord(timeout: .patience) { _ in server.connections.isEmpty }
            let third = try await SocketClient.connect(to: server, through: proxy)
            _ = try await third.socketID()
        }
    }

    @Test("shutdown closes all sockets, and another start uses the same port")
    func shutdown() async throws {
        try await ByteConnection.withListener { port, origins in
            var incoming = origins.makeAsyncIterator()
            var options = TestProxy.Options()
            options.host = LoopbackAddress.ofItsOwn()
            let proxy = TestProxy(options: options)
            try await proxy.start()
            try await proxy.start()
            let proxyPort = proxy.port
            let client = try await ByteConnection.connect(host: proxy.host, port: proxy.port)
            client.write(tunnelRequest(port))
            _ = await client.readHead()
            let origin = try #require(await incoming.next())
            let idle = try await ByteConnection.connect(host: proxy.host, port: proxy.port)
            await proxy.shutdown()
            await proxy.shutdown()
            #expect(proxy.openTunnelCount == 0)
            #expect(await origin.readToEnd() == [])
            #expect(await client.readToEnd() == [])
            #expect(await idle.readToEnd() == [])
            await #expect(throws: (any Error).self) {
                try await ByteConnection.connect(host: proxy.host, port: proxyPort)
            }
            try await proxy.start()
            #expect(proxy.port == proxyPort && proxy.requests.count == 1)
            options.port = proxyPort
            let second = TestProxy(options: options)
            let error = await #expect(throws: PusherTestServer.ServerError.self) { try await second.start() }
            #expect(error?.code == .bindFailed)
            await proxy.shutdown()
        }
    }

    @Test("a proxy closes its tunnels when the app releases the proxy")
    func dropped() async throws {
        try await ByteConnection.withListener { port, origins in
            var incoming = origins.makeAsyncIterator()
            var proxy: TestProxy? = TestProxy()
            try await proxy?.start()
            let client = try await ByteConnection.connect(port: try #require(proxy).port)
            client.write(tunnelRequest(port))
            let origin = try #require(await incoming.next())
            _ = await client.readHead()
            proxy = nil
            #expect(await client.readToEnd() == [])
            #expect(await origin.readToEnd() == [])
        }
    }
}
