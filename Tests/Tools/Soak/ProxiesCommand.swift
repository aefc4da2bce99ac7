import ArgumentParser
import EventSourceTestServer
import Foundation
import PusherClient
import PusherTestServer
import ServerSentEvents
import TestSupport

/// Uses the clients through proxies of others.
struct ProxiesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxies",
        abstract: "Uses the clients through nginx and a CONNECT proxy, which .ci/proxies starts."
    )

    @Option(help: "The port for the Pusher server.")
    var serverPort: Int

    @Option(help: "The port for the server of event streams. The reverse proxies have its paths below /stream.")
    var streamPort: Int

    @Option(help: "The port of a reverse proxy that buffers answers.")
    var buffering: Int

    @Option(help: "The port of a reverse proxy that does not buffer answers.")
    var unbuffered: Int

    @Option(help: "The port of a CONNECT proxy for the user ada with the password hush.")
    var tunnel: Int

    /// A way to the servers.
    private struct Route {
        let name: String
        let port: Int
        let streamPort: Int
        var proxy = HTTPProxy.direct
        var isBuffering = false
    }

    func run() async throws {
        let hangGuard = HangGuard(patience: .seconds(60), "the servers' start")
        let credentials = HTTPProxy.Credentials(username: "ada", password: "hush")
        let proxy = HTTPProxy.server(host: "127.0.0.1", port: tunnel, credentials: credentials)
        let routes = [
            Route(name: "nginx without buffering", port: unbuffered, streamPort: unbuffered),
            Route(name: "nginx with buffering", port: buffering, streamPort: buffering, isBuffering: true),
            Route(name: "the CONNECT proxy", port: serverPort, streamPort: streamPort, proxy: proxy),
        ]
        var options = PusherTestServer.Options()
        options.port = serverPort
        let streamServer = try await EventSourceTestServer.start(port: streamPort)
        try await PusherTestServer.withServer(options: options) { server in
            for route in routes {
                // nginx keeps the end of a long event in its buffer until more data follows.
                let streaming: [PusherTransport] = route.isBuffering ? [] : [.httpStreaming]
                for transport in [PusherTransport.webSocket, .httpPolling] + streaming {
                    hangGuard.begin("\(transport) through \(route.name)")
                    try await usePusher(transport, through: route, server, hangGuard)
                }
                hangGuard.begin("event streams through \(route.name)")
                try await useEventStreams(through: route, streamServer)
                print("\(route.name): passed")
            }
            hangGuard.begin("a CONNECT proxy with a wrong password")
            try await beRefused(server)
        }
        await streamServer.shutdown()
        print("all passed")
    }

    private func require(_ condition: Bool, _ message: String) throws {
        guard condition else { throw ExitMessage(message) }
    }

    private func options(_ route: Route, _ transports: PusherTransports) -> PusherClientOptions {
        let options = PusherClientOptions(
            endpoint: PusherEndpoint(host: "127.0.0.1", port: route.port, useTLS: false)
        )
        options.authMethod = .inline(secret: PusherTestServer.Application().secret)
        options.transports = transports
        options.proxy = route.proxy
        options.callbackQueue = .eventLoop
        options.logLevel = .silent
        options.timeouts.connectionAttempt = .seconds(30)
        return options
    }

    private func usePusher(
        _ transport: PusherTransport,
        through route: Route,
        _ server: PusherTestServer,
        _ hangGuard: HangGuard
    ) async throws {
        let pusher = Pusher(key: server.access.key, options: options(route, [transport]))
        let channel = pusher.subscribe("private-news")
        var texts = channel.values(named: "news", as: String.self).makeAsyncIterator()
        try await pusher.connected()
        try await channel.subscribed()
        try require(pusher.transport == transport, "\(route.name): the transport is not \(transport).")
        // Short events, and more than the length of a streaming response.
        for number in 1...100 {
            let filler = String(repeating: "x", count: number <= 40 ? 0 : 8_000)
            try server.publish(event: "news", data: "\"\(number) \(filler)\"", to: "private-news")
            hangGuard.begin("\(transport) through \(route.name), event \(number)")
            let text = await texts.next()
            try require(text == "\(number) \(filler)", "\(route.name): event \(number) did not come over \(transport).")
        }
        try await channel.send("client-said", data: 1)
        try require(pusher.statistics.connections.lost.isEmpty, "\(route.name): \(transport) was lost.")
        await pusher.disconnected()
    }

    private func useEventStreams(through route: Route, _ server: EventSourceTestServer) async throws {
        for isHeldBack in Set([false, route.isBuffering]) {
            let (received, receiver) = AsyncStream.makeStream(of: Void.self)
            server.respond(at: "/stream") { exchange in
                // With this field, nginx does not buffer the answer.
                try await exchange.start(headers: ["X-Accel-Buffering": isHeldBack ? nil : "no"])
                var next = received.makeAsyncIterator()
                for number in 1...10 {
                    try await exchange.send("data: \(number)\n\n")
                    if !isHeldBack { await next.next() }
                }
                try await exchange.end()
            }
            let connector = EventStreamConnector(proxy: route.proxy)
            let stream = EventStream("http://127.0.0.1:\(route.streamPort)/stream", connector: connector)
            var numbers: [String] = []
            for try await event in stream.events {
                numbers.append(event.data)
                receiver.yield()
                if numbers.count == 10 { break }
            }
            try require(numbers == (1...10).map { "\($0)" }, "\(route.name): the stream brought \(numbers).")
        }
    }

    private func beRefused(_ server: PusherTestServer) async throws {
        let credentials = HTTPProxy.Credentials(username: "ada", password: "wrong")
        let proxy = HTTPProxy.server(host: "127.0.0.1", port: tunnel, credentials: credentials)
        let route = Route(name: "", port: serverPort, streamPort: streamPort, proxy: proxy)
        for transport in [PusherTransport.webSocket, .httpPolling] {
            let pusher = Pusher(key: server.access.key, options: options(route, [transport]))
            var errors = pusher.errors.makeAsyncIterator()
            pusher.connect()
            let message = await errors.next()?.message ?? ""
            // tinyproxy should answer with 407.
            try require(message.contains("it answered with HTTP status 401"), "The error is: \(message)")
            await pusher.disconnected()
        }
    }
}
