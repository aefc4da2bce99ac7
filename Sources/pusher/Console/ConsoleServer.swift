import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import PusherTestServer
import RealtimeJSON

/// The console's HTTP server. The server sends the page and a stream of updates, and performs the page's actions.
struct ConsoleServer: Sendable {
    let console: Console
    private let server: PusherTestServer
    private let token = ConsoleAccess.makeToken()

    private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>
    private typealias Outbound = NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

    /// The longest body of an action, in bytes. The limit is high enough for an event in which every byte is escaped.
    private static let bodyLimit = 128 << 10
    /// The minimum time between two updates of a page.
    private static let updateInterval = Duration.milliseconds(50)

    init(_ server: PusherTestServer, log: ConsoleLog = ConsoleLog()) {
        self.server = server
        self.console = Console(server, log: log)
    }

    /// Serves on the host of the test server until the task is cancelled.
    ///
    /// - Parameters:
    ///   - port: The port to listen on. If nil, the console uses the port after the server's port, or any free port if
    ///     that port is in use.
    ///   - whenReady: A closure that gets the page's URL when the console accepts requests. If the closure throws an
    ///     error, the console stops.
    func run(port: Int? = nil, whenReady: (_ url: String) async throws -> Void) async throws {
        let listener: NIOAsyncChannel<Connection, Never>
        if let port {
            listener = try await bind(port: port)
        } else if let next = try? await bind(port: server.port + 1) {
            listener = next
        } else {
            listener = try await bind(port: 0)
        }
        let boundPort = listener.channel.localAddress?.port ?? 0
        let access = ConsoleAccess(host: server.host, port: boundPort, token: token)
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await console.follow() }
            try await listener.executeThenClose { connections in
                let host = server.host.contains(":") ? "[\(server.host)]" : server.host
                try await whenReady("http://\(host):\(boundPort)/")
                for try await connection in connections {
                    // An error of one connection must not stop the console.
                    group.addTask { try? await serve(connection, access) }
                }
            }
            group.cancelAll()
        }
    }

    private func bind(port: Int) async throws -> NIOAsyncChannel<Connection, Never> {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: server.host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    // The loop in `serve` reads one request after another, without NIO's pipelining assistance. With
                    // the assistance, the server would not notice a closed page while it sends updates.
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try RequestTimeLimit.add(to: channel.pipeline.syncOperations)
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
    }

    // MARK: Requests

    private func serve(_ connection: Connection, _ access: ConsoleAccess) async throws {
        try await connection.executeThenClose { inbound, outbound in
            var head: HTTPRequestHead?
            var body = ByteBuffer()
            for try await part in inbound {
                switch part {
                case .head(let newHead):
                    head = newHead
                    body.clear()
                case .body(var bytes):
                    body.writeBuffer(&bytes)
                    guard body.readableBytes <= Self.bodyLimit else {
                        return try await respond(.payloadTooLarge, "The request is too large.", to: outbound)
                    }
                case .end:
                    guard let head else { return }
                    try await answer(head, body, access, connection.channel, outbound)
                    guard head.isKeepAlive else { return }
                }
            }
        }
    }

    private func answer(
        _ head: HTTPRequestHead,
        _ body: ByteBuffer,
        _ access: ConsoleAccess,
        _ channel: any Channel,
        _ outbound: Outbound
    ) async throws {
        let target = ConsoleTarget(head.uri)
        if let refusal = access.refusal(of: head, target: target) {
            return try await respond(.forbidden, refusal, to: outbound)
        }
        switch (head.method, target.path) {
        case (.GET, "/"):
            let page = try ConsolePage(server: server, token: token)
            try await respond(.ok, page.html, type: "text/html", policy: page.policy, to: outbound)
        case (.GET, "/updates"):
            // A browser that reconnects sends the index of the line that it needs next.
            let last = head.headers.first(name: "Last-Event-ID") ?? target.parameters["from"]
            try await stream(from: last.flatMap { Int($0) } ?? 0, channel, outbound)
        case (.POST, "/actions"):
            let (status, text) = await perform(body)
            try await respond(status, text, to: outbound)
        case (_, "/"), (_, "/updates"), (_, "/actions"):
            try await respond(.methodNotAllowed, "\(head.method) is not allowed here.", to: outbound)
        default:
            try await respond(
                .notFound,
                "Path \"\(target.path)\" not found. The console is at \"/\".",
                to: outbound
            )
        }
    }

    private func perform(_ body: ByteBuffer) async -> (HTTPResponseStatus, String) {
        do {
            let action = try JSONDecodingOptions().decode(ConsoleAction.self, from: String(buffer: body))
            return (.ok, try await console.perform(action))
        } catch let error as ConsoleError {
            return (.conflict, error.description)
        } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
            return (.badRequest, "Invalid action: the body is not JSON.")
        } catch DecodingError.dataCorrupted(let context) {
            return (.badRequest, "Invalid action: \(context.debugDescription).")
        } catch {
            return (.badRequest, "Invalid action: a value is missing or has the wrong type.")
        }
    }

    private func respond(
        _ status: HTTPResponseStatus,
        _ text: String,
        type: String = "text/plain",
        policy: String = "default-src 'none'; frame-ancestors 'none'",
        to outbound: Outbound
    ) async throws {
        let body = ByteBuffer(string: text)
        var headers = Self.headers(type: type, policy: policy)
        headers.add(name: "Content-Length", value: "\(body.readableBytes)")
        // The server does not read the rest of a large body, so the connection must close.
        if status == .payloadTooLarge { headers.add(name: "Connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        try await outbound.write(contentsOf: [.head(head), .body(.byteBuffer(body)), .end(nil)])
    }

    /// Returns header fields that stop other pages from embedding the console, and caches from storing answers.
    private static func headers(type: String, policy: String) -> HTTPHeaders {
        [
            "Content-Type": "\(type); charset=utf-8", "Cache-Control": "no-store", "Content-Security-Policy": policy,
            "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
        ]
    }

    // MARK: Updates

    /// Sends server-sent events until the page is closed. A slow page gets more lines in one update, and misses lines
    /// that the log removes in the meantime.
    private func stream(from index: Int, _ channel: any Channel, _ outbound: Outbound) async throws {
        let changes = await console.open { close in channel.closeFuture.whenComplete { _ in close() } }
        let headers = Self.headers(type: "text/event-stream", policy: "default-src 'none'")
        try await outbound.write(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)))
        try await outbound.write(.body(.byteBuffer(ByteBuffer(string: "retry: 1000\n\n"))))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        var next = index
        var state: ConsoleState?
        for await _ in changes {
            var isPartial = true
            while isPartial {
                let update = await console.update(from: next, after: state)
                let json = String(decoding: try encoder.encode(update), as: UTF8.self)
                try await outbound.write(
                    .body(.byteBuffer(ByteBuffer(string: "id: \(update.next)\ndata: \(json)\n\n")))
                )
                next = update.next
                state = update.state ?? state
                isPartial = update.isPartial
            }
            try await Task.sleep(for: Self.updateInterval)
        }
        try await outbound.write(.end(nil))
    }
}
