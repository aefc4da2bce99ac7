import ClientTestSupport
import PusherTestServer
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@testable import PusherClient

@Suite("HTTP transports over real sockets", .limited)
struct HTTPOverSocketsTests {
    private static let transports: [PusherTransport] = [.httpStreaming, .httpPolling]

    /// The options of a server that soon ends a session without a receiving request. By default, the server waits as long
    /// as a test waits for the end.
    private static let forgetful: PusherTestServer.Options = {
        var options = PusherTestServer.Options()
        options.httpTransports.disconnectDelay = .seconds(5)
        return options
    }()

    private func makeClient(
        _ server: PusherTestServer,
        _ transports: PusherTransports,
        host: String? = nil,
        port: Int? = nil,
        tls: TLSOptions? = nil
    ) -> Pusher {
        Pusher(
            key: server.options.application.key,
            options: PusherClientOptions(
                authMethod: .endpoint(authEndpoint: server.url + "/pusher/auth"),
                host: .host(host ?? server.host),
                port: port ?? server.port,
                useTLS: tls != nil,
                timeouts: .patient,
                tls: tls ?? TLSOptions(),
                proxy: .direct,
                transports: transports,
                callbackQueue: .eventLoop,
                logger: .quiet
            )
        )
    }

    @Test("events arrive once and in order, even if a session continues with other streams", arguments: transports)
    func events(transport: PusherTransport) async throws {
        try await PusherTestServer.withServer { server in
            let pusher = makeClient(server, [transport])
            let delegate = RecordingDelegate()
            pusher.delegate = delegate
            let channel = pusher.subscribe("orders")
            let events = channel.events(named: "e")
            pusher.connect()
            try await channel.subscribed()
            #expect(pusher.connection.transport == transport)
            let padding = String(repeating: "\u{e9}", count: 1_000)
            for number in 0..<1_000 { try server.publish(event: "e", data: "\(number) \(padding)", to: "orders") }
            var numbers: [Int] = []
            for await event in events {
                numbers.append(event.data.flatMap { Int($0.prefix { $0 != " " }) } ?? -1)
                if numbers.count == 1_000 { break }
            }
            #expect(numbers == Array(0..<1_000))
            #expect(pusher.statistics.connections.established == 1, "\(delegate.errors.elements)")
            await pusher.disconnected()
        }
    }

    @Test("private channels and client events work over TLS", arguments: transports)
    func overTLS(transport: PusherTransport) async throws {
        let chain = TestChain(.direct)
        var options = PusherTestServer.Options()
        options.tls = .init(certificateChain: chain.chainPEM, privateKey: chain.keyPEM)
        let tls = TLSOptions(
            trustRoots: .only(pem: chain.rootPEM),
            certificateVerification: .noHostnameVerification
        )
        try await PusherTestServer.withServer(options: options) { server in
            let clients = (0..<2).map { _ in
                Pusher(
                    key: server.options.application.key,
                    options: PusherClientOptions(
                        authMethod: .inline(secret: server.options.application.secret),
                        host: .host(server.host),
                        port: server.port,
                        timeouts: .patient,
                        tls: tls,
                        proxy: .direct,
                        transports: [transport],
                        callbackQueue: .eventLoop,
                        logger: .quiet
                    )
                )
            }
            let channels = clients.map { $0.subscribe("private-chat") }
            let events = channels[1].events(named: "client-n")
            for client in clients { client.connect() }
            for channel in channels { try await channel.subscribed() }
            for number in 0..<8 { channels[0].trigger(eventName: "client-n", data: number) }
            var texts: [String] = []
            for await event in events {
                texts.append(event.data ?? "")
                if texts.count == 8 { break }
            }
            #expect(texts == (0..<8).map { "\($0)" })
            for client in clients { await client.disconnected() }
        }
    }

    @Test(
        "the client connects over HTTP if WebSockets are blocked",
        arguments: [.swallowed, .answered(status: 400), .answered(status: 426), .reset]
            as [PusherTestRelay.UpgradeFault]
    )
    func blocked(fault: PusherTestRelay.UpgradeFault) async throws {
        try await PusherTestServer.withServer { server in
            var options = PusherTestRelay.Options(serverPort: server.port)
            options.host = LoopbackAddress.ofItsOwn()
            try await PusherTestRelay.withRelay(options: options) { relay in
                relay.blockUpgrades(with: fault)
                let pusher = makeClient(server, .webSocketWithHTTPFallback, host: relay.host, port: relay.port)
                try await pusher.connected()
                #expect(pusher.connection.transport == .httpStreaming)
                #expect(pusher.statistics.connections.unusedTransports[.webSocket] != nil)
                await pusher.disconnected()
            }
        }
    }

    @Test("the client reconnects after a stream is cut")
    func cut() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = makeClient(server, [.httpStreaming])
            try await pusher.connected()
            let statuses = pusher.statuses
            server.endStreams(cleanly: false)
            for await status in statuses {
                if case .connected = status, pusher.statistics.connections.established == 2 { break }
            }
            #expect(pusher.statistics.connections.lost.values.reduce(0, +) == 1)
            await pusher.disconnected()
        }
    }

    @Test("the client continues with the first stream as soon as the server refuses the second")
    func refusedHandover() async throws {
        @Sendable func frame(_ message: String) -> String { "a[\"\(message.replacing("\"", with: "\\\""))\"]\n" }
        @Sendable func chunk(_ text: String) -> String { "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n" }
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let greeting = frame(#"{"event":"pusher:connection_established","data":{"socket_id":"1.1"}}"#)
        let long = frame(#"{"event":"long","data":"\#(String(repeating: "x", count: 300_000))"}"#)
        let streams = Log<Void>()
        let (refusals, refusal) = AsyncStream.makeStream(of: Void.self)
        try await withScriptedServer { peer in
            guard await peer.readUpgrade().contains("/xhr_streaming?") else { return }
            streams.append(())
            try await peer.write(head)
            if streams.count == 1 {
                try await peer.write(chunk("o\n") + chunk(greeting) + chunk(long))
                _ = await refusals.first { _ in true }
                try await peer.write(chunk(frame(#"{"event":"last","data":"x"}"#)))
            } else {
                try await peer.write(chunk(String(repeating: "h", count: 2_048) + "\n"))
                try await peer.write(chunk("c[2010,\"Another connection still open\"]\n"))
                // The client closes the second stream, and continues to read the first.
                await peer.readToEnd()
                refusal.yield()
            }
            await peer.readToEnd()
        } _: { port in
            let options = PusherClientOptions(
                host: .host("127.0.0.1"),
                port: port,
                useTLS: false,
                timeouts: .patient,
                proxy: .direct,
                transports: [.httpStreaming],
                callbackQueue: .eventLoop,
                logger: .quiet
            )
            let pusher = Pusher(key: "key", options: options)
            let events = pusher.events(named: "last")
            pusher.connect()
            #expect(await events.first { _ in true }?.data == "x")
            #expect(pusher.statistics.connections.lost.isEmpty)
            await pusher.disconnected()
        }
    }

    @Test("releasing a client closes its HTTP connection")
    func release() async throws {
        try await PusherTestServer.withServer(options: Self.forgetful) { server in
            do {
                let pusher = makeClient(server, [.httpPolling])
                try await pusher.connected()
            }
            try await server.nextRecord { record in record.event == .connectionEnded }
            #expect(server.connections.isEmpty)
        }
    }

    @Test("a client that is released over HTTP still sends its last client events", arguments: transports)
    func releaseAfterMessages(transport: PusherTransport) async throws {
        try await PusherTestServer.withServer(options: Self.forgetful) { server in
            do {
                let pusher = makeClient(server, [transport])
                let channel = pusher.subscribe("private-orders")
                pusher.connect()
                try await channel.subscribed()
                for number in 1...3 { channel.trigger(eventName: "client-\(number)", data: "x") }
            }
            try await server.nextRecord { record in record.event == .connectionEnded }
            let messages = server.receivedMessages()
            #expect((1...3).allSatisfy { number in messages.contains { $0.contains("client-\(number)") } })
        }
    }
}
