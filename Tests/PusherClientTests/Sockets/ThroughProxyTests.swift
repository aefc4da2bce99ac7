import ProxyTestSupport
import PusherTestServer
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import Testing
import WebSocketClient

@testable import PusherClient

@Suite("Through a proxy, on real sockets", .timeLimit(.minutes(5)))
struct ThroughProxyTests {
    @Test(
        "the WebSocket and the authorization go through it, and the proxy looks the name up",
        arguments: [true, false]
    )
    func works(useTLS: Bool) async throws {
        try await withProxy(useTLS: useTLS, authMethod: authEndpoint) { server, proxy, pusher in
            let channel = pusher.subscribe("private-orders")
            var events = channel.events(named: "created").makeAsyncIterator()
            try await pusher.connected()
            try await channel.subscribed()
            try server.publish(event: "created", data: "1", to: "private-orders")
            #expect(await events.next()?.data == "1")
            let requests = proxy.requests
            // More than two, if a slow machine made one too late and the client repeated it.
            #expect(requests.count >= 2 && requests.allSatisfy { $0.method == "CONNECT" })
            #expect(requests.allSatisfy { $0.host == proxiedName && $0.port == server.port && $0.status == 200 })
        }
    }

    @Test("user name and password are sent, to both kinds of requests", arguments: [true, false])
    func credentials(useTLS: Bool) async throws {
        try await withProxy(useTLS: useTLS, isProtected: true, password: "hush: ünïque", authMethod: authEndpoint) {
            server,
            proxy,
            pusher in
            try await pusher.connected()
            try await pusher.subscribe("private-orders").subscribed()
            #expect(proxy.requests.count >= 2 && proxy.requests.allSatisfy(\.isAuthorized))
            // They are for the proxy only.
            let record = try await server.nextRecord(timeout: .patience) { record in
                if case .connectionRequested = record.event { true } else { false }
            }
            guard case .connectionRequested(let upgrade) = record.event else { return }
            let requests = server.authorizationRequests + [upgrade]
            #expect(requests.compactMap { $0.header("Proxy-Authorization") } == [])
        }
    }

    @Test("after a tunnel ends, the client reconnects through the proxy")
    func dropped() async throws {
        try await withProxy { _, proxy, pusher in
            let channel = pusher.subscribe("orders")
            var resubscriptions = channel.resubscriptions.makeAsyncIterator()
            try await pusher.connected()
            try await channel.subscribed()
            proxy.dropTunnels()
            #expect(await resubscriptions.next() != nil)
            #expect(proxy.requests.count >= 2)
        }
    }

    @Test(
        "pins apply to the server's key, not the proxy's, and a mismatch sends no upgrade"
    )
    func pins() async throws {
        try await withProxy(tls: { certificates in
            TLSOptions(trustRoots: .only(pem: certificates.rootPEM), pins: [certificates.serverPin])
        }) { _, _, pusher in
            try await pusher.connected()
        }
        try await withProxy(tls: { certificates in
            TLSOptions(
                trustRoots: .only(pem: certificates.rootPEM),
                pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
            )
        }) { server, proxy, pusher in
            var errors = pusher.errors.makeAsyncIterator()
            pusher.connect()
            #expect(await errors.next()?.code == .pinMismatch)
            pusher.disconnect()
            // When the tunnel has ended, the server has read everything.
            try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
            #expect(server.records.isEmpty)
            #expect(proxy.requests.allSatisfy { $0.status == 200 })
        }
    }

    @Test("the server's certificate is verified through the tunnel")
    func certificate() async throws {
        try await withProxy(tls: { _ in TLSOptions() }) { server, proxy, pusher in
            var errors = pusher.errors.makeAsyncIterator()
            pusher.connect()
            #expect(await errors.next()?.code == .tlsFailed)
            pusher.disconnect()
            try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
            #expect(server.records.isEmpty)
        }
    }

    @Test("a proxy from the environment is used, but not for this machine")
    func environment() async throws {
        var options = TestProxy.Options()
        options.hosts[proxiedName] = "127.0.0.1"
        try await PusherTestServer.withServer { server in
            try await TestProxy.withProxy(options: options) { proxy in
                let rules = ProxyRules(.environment, environment: ["http_proxy": "http://127.0.0.1:\(proxy.port)"])
                for (host, count) in [(proxiedName, 2), ("127.0.0.1", 2), ("localhost", 2)] {
                    let socket = try SocketUnderTest(
                        .init(host: host, port: server.port, useTLS: false, path: "/app/app-key?protocol=7"),
                        options: .init(closeTimeout: .seconds(3_600)),
                        proxies: rules
                    )
                    #expect(await socket.nextOutcome() == .opened)
                    _ = try await socket.abort()
                    #expect(
                        try await AsyncHTTPRequester.patient(proxies: rules)
                            .response(to: .get("http://\(host):\(server.port)/nowhere")).status == 404
                    )
                    #expect(proxy.requests.count == count)
                }
            }
        }
    }

    @Test("one requester uses the proxy or none as required, and ends with all its requests")
    func bothWays() async throws {
        var options = TestProxy.Options()
        options.hosts[proxiedName] = "127.0.0.1"
        try await PusherTestServer.withServer { server in
            try await TestProxy.withProxy(options: options) { proxy in
                let rules = ProxyRules(.server(host: proxy.host, port: proxy.port, exempting: ["127.0.0.1"]))
                let requester = AsyncHTTPRequester.patient(proxies: rules)
                let direct = "http://127.0.0.1:\(server.port)/nowhere"
                let proxied = "http://\(proxiedName):\(server.port)/nowhere"
                #expect(try await requester.response(to: .get(direct)).status == 404)
                #expect(proxy.requests.isEmpty)
                #expect(try await requester.response(to: .get(proxied)).status == 404)
                #expect(proxy.requests.map(\.host) == [proxiedName])
                #expect(try await requester.response(to: .get(direct)).status == 404)
                #expect(proxy.requests.count == 1)
                requester.shutdown()
                for url in [direct, proxied] {
                    let error = await #expect(throws: HTTPRequestError.self) {
                        try await requester.response(to: .get(url))
                    }
                    #expect(error?.kind == .shutDown)
                }
                try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
            }
        }
    }
}
