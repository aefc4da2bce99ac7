import ProxyTestSupport
import PusherTestServer
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing
import WebSocketClient

@testable import PusherClient

@Suite("Through a proxy, on real sockets", .limited)
struct ThroughProxyTests {
    @Test(
        "the WebSocket and the authorization go through the proxy, which looks up the server's name",
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
            // There are more than two requests if a slow machine caused a timeout and a retry.
            #expect(requests.count >= 2 && requests.allSatisfy { $0.method == "CONNECT" })
            #expect(requests.allSatisfy { $0.host == proxiedName && $0.port == server.port && $0.status == 200 })
        }
    }

    @Test(
        "the client sends the user name and password to the proxy for the WebSocket and for authorizations",
        arguments: [true, false]
    )
    func credentials(useTLS: Bool) async throws {
        try await withProxy(useTLS: useTLS, isProtected: true, password: "hush: ünïque", authMethod: authEndpoint) {
            server,
            proxy,
            pusher in
            try await pusher.connected()
            try await pusher.subscribe("private-orders").subscribed()
            #expect(proxy.requests.count >= 2 && proxy.requests.allSatisfy(\.isAuthorized))
            // Only the proxy may get the credentials.
            let record = try await server.nextRecord(timeout: .patience) { record in
                if case .connectionRequested = record.event { true } else { false }
            }
            guard case .connectionRequested(let upgrade) = record.event else { return }
            let requests = server.authorizationRequests + [upgrade]
            #expect(requests.compactMap { $0.header("Proxy-Authorization") } == [])
        }
    }

    @Test("the client reconnects through the proxy after a tunnel is closed")
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
        "the client checks pins against the server's key, and sends no upgrade after a mismatch"
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
            // The server has read all bytes when the tunnel is closed.
            try await proxy.waitForOpenTunnels(count: 0, timeout: .patience)
            #expect(server.records.isEmpty)
            #expect(proxy.requests.allSatisfy { $0.status == 200 })
        }
    }

    @Test("the client verifies the server's certificate through the tunnel")
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

    @Test("the client uses a proxy from the environment, except for the local machine")
    func environment() async throws {
        var options = TestProxy.Options()
        options.hosts[proxiedName] = "127.0.0.1"
        var serverOptions = PusherTestServer.Options()
        serverOptions.allowedHosts = [proxiedName]
        try await PusherTestServer.withServer(options: serverOptions) { server in
            try await TestProxy.withProxy(options: options) { proxy in
                let rules = ProxyRules(.environment, environment: ["http_proxy": "http://127.0.0.1:\(proxy.port)"])
                for (host, count) in [(proxiedName, 2), ("127.0.0.1", 2), ("localhost", 2)] {
                    let socket = try SocketUnderTest(
                        .init(host: host, port: server.port, useTLS: false, path: "/app/app-key?protocol=7"),
                        proxies: rules
                    )
                    #expect(await socket.nextOutcome() == .opened)
                    _ = try await socket.abort()
                    #expect(
                        try await PooledHTTPRequester.patient(proxies: rules)
                            .response(to: .get("http://\(host):\(server.port)/nowhere")).status == 404
                    )
                    #expect(proxy.requests.count == count)
                }
            }
        }
    }

    @Test("a requester uses the proxy only if required, and its shutdown cancels all requests")
    func bothWays() async throws {
        var options = TestProxy.Options()
        options.hosts[proxiedName] = "127.0.0.1"
        var serverOptions = PusherTestServer.Options()
        serverOptions.allowedHosts = [proxiedName]
        try await PusherTestServer.withServer(options: serverOptions) { server in
            try await TestProxy.withProxy(options: options) { proxy in
                let rules = ProxyRules(.server(host: proxy.host, port: proxy.port, exempting: ["127.0.0.1"]))
                let requester = PooledHTTPRequester.patient(proxies: rules)
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
