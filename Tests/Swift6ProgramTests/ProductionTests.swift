import ClientTestSupport
import Foundation
import Logging
import ProxyTestSupport
import PusherClient
import PusherTestServer
import TestSupport
import TestTLS
import TestTraits
import Testing

@Suite("The programs of the article on production", .limited)
struct ProductionTests {
    init() { DefaultLogger.silence() }

    @Test("the URL of each client has the scheme, host, port and path of its endpoint")
    func endpoints() {
        let urls = Production.endpoints().map { Pusher(key: "key", options: $0).connection.url.prefix { $0 != "?" } }
        #expect(
            urls == [
                "wss://ws-eu.pusher.com:443/app/key", "wss://ws.example.com:443/app/key", "ws://127.0.0.1:6001/app/key",
                "wss://ws.example.com:8443/realtime/app/key",
            ]
        )
    }

    @Test("a client connects with a proxy, pins and a client certificate, or with headers and query items")
    func network() async throws {
        let certificates = TestCertificates(.proxied)
        var options = PusherTestServer.Options()
        options.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        var proxyOptions = TestProxy.Options()
        proxyOptions.credentials = .init(username: "service", password: "secret")
        proxyOptions.hosts["ws.example.test"] = "127.0.0.1"
        options.allowedHosts = ["ws.example.test"]
        let tls = Production.pinned(
            currentPin: certificates.serverPin,
            reservePin: "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            chain: certificates.clientPEM,
            key: certificates.clientKeyPEM,
            roots: certificates.rootPEM
        )
        try await PusherTestServer.withServer(options: options) { server in
            try await TestProxy.withProxy(options: proxyOptions) { proxy in
                let endpoint = PusherEndpoint(host: "ws.example.test", port: server.port)
                let pusher = Pusher(
                    key: "app-key",
                    options: Production.proxied(
                        endpoint,
                        host: proxy.host,
                        port: proxy.port,
                        password: "secret",
                        authMethod: .inline(secret: server.options.application.secret),
                        tls: tls
                    )
                )
                try await pusher.connected()
                try await pusher.subscribe("private-orders").subscribed()
                // On a slow machine, the client may repeat a connection that has timed out.
                #expect(!proxy.requests.isEmpty && proxy.requests.allSatisfy { $0.method == "CONNECT" })
                await pusher.disconnected()
            }
        }
        try await PusherTestServer.withServer { server in
            let options = Production.gateway(server.endpoint, tenant: "a b", token: "t")
            let pusher = Pusher(key: "app-key", options: options)
            try await pusher.connected()
            let record = try await server.nextRecord(timeout: .patience) { record in
                if case .connectionRequested = record.event { true } else { false }
            }
            guard case .connectionRequested(let request) = record.event else { return }
            #expect(request.header("X-Gateway-Token") == "t")
            #expect(request.parameters["tenant"] == "a b")
            await pusher.disconnected()
        }
    }

    @Test("the app switches servers, and shows messages to the user during an outage")
    func lifecycle() async throws {
        var second = PusherTestServer.Options()
        second.application = .init(id: "2", key: "second", secret: "second-secret")
        let other = PusherTestServer(options: second)
        try await other.start()
        try await PusherTestServer.withServer { server in
            let (lines, writer) = AsyncStream.makeStream(of: String.self)
            let pusher = Pusher(
                key: "app-key",
                options: PusherClientOptions(endpoint: server.endpoint, retryPolicy: .delays([.seconds(2)]))
            )
            let shown = Task { await Production.retryLines(pusher) { writer.yield($0) } }
            let channel = pusher.subscribe("orders")
            try await pusher.connected()
            try await Production.tokenIsFresh(channel)
            try await Production.failOver(pusher, to: other.endpoint, key: "second", authMethod: .noMethod)
            try await channel.subscribed()
            await other.shutdown()
            for await line in lines where line.hasPrefix("retrying in 2 s: ") { break }
            for await line in lines where line.hasPrefix("retrying in 1 s: ") { break }
            await Production.goodbye(pusher)
            #expect(pusher.connection.connectionState == .disconnected)
            shown.cancel()
            await shown.value
        }
    }

    @Test("parts of an app share a channel, a screen observes the channel, and a request names the connection")
    @MainActor
    func use() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(key: "app-key", options: PusherClientOptions(endpoint: server.endpoint))
            let (lines, writer) = AsyncStream.makeStream(of: String.self)
            var list: OrderList? = OrderList(pusher)
            let parts = (1...2).map { number in
                Task { await Production.share(pusher) { writer.yield("\(number) \($0)") } }
            }
            let request = try await Production.socketID(pusher, url: try #require(URL(string: "https://example.com")))
            #expect(request.value(forHTTPHeaderField: "X-Socket-ID") == pusher.connection.socketId)
            try await server.waitForSubscription(to: "orders", timeout: .patience)
            try server.publish(event: "created", data: "one", to: "orders")
            var missing: Set = ["1 one", "2 one"]
            for await line in lines where missing.remove(line) != nil && missing.isEmpty { break }
            await waitUntil { list?.orders == ["one"] }
            try server.publish(event: "cleared", data: "", to: "orders")
            await waitUntil { list?.orders == [] }
            list = nil
            for part in parts { part.cancel() }
            for part in parts { await part.value }
            await pusher.disconnected()
        }
    }

    @Test("the app sends and receives long events in parts")
    func chunks() async throws {
        try await PusherTestServer.withServer { server in
            let text = String(repeating: "Grüße aus 東京! \"\\\n", count: 1_000)
            let clients = (1...2).map { _ in
                Pusher(
                    key: "app-key",
                    options: Production.chunked(
                        server.endpoint,
                        authMethod: .inline(secret: server.options.application.secret)
                    )
                )
            }
            var channels: [PusherChannel] = []
            for client in clients {
                try await client.connected()
                channels.append(try await client.subscribe("private-chat").subscribed())
            }
            var events = channels[1].events.makeAsyncIterator()
            try await channels[0].send("client-say", data: text)
            try await channels[0].send("client-say", data: "short")
            let long = await events.next()
            #expect(long?.eventName == "client-say")
            #expect(long?.data == text)
            #expect(await events.next()?.data == "short")

            for (index, part) in ["Hello, ", "world"].enumerated() {
                let data = #"{"id":"7","index":\#(index),"count":2,"text":"\#(part)"}"#
                try server.publish(event: "chunked-greeting", data: data, to: "private-chat")
            }
            let greeting = await events.next()
            #expect(greeting?.eventName == "greeting" && greeting?.data == "Hello, world")

            var errors = clients[1].errors.makeAsyncIterator()
            try server.publish(event: "chunked-greeting", data: "{}", to: "private-chat")
            #expect(await errors.next()?.code == .payloadTransformerFailed)
            for client in clients { await client.disconnected() }
        }
    }

    #if ServiceLifecycle
        @Test("the client runs as a service beside other services")
        func service() async throws {
            try await PusherTestServer.withServer { server in
                let pusher = Pusher(key: "app-key", options: PusherClientOptions(endpoint: server.endpoint))
                let worker = Worker(pusher: pusher)
                await #expect(throws: Worker.Done.self) {
                    try await Production.serve(pusher, beside: worker, logger: Logger(label: "service"))
                }
            }
        }
    #endif
}

extension PusherTestServer {
    fileprivate var endpoint: PusherEndpoint { PusherEndpoint(host: host, port: port, useTLS: usesTLS) }
}
