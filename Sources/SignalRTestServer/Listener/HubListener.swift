import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// Binds a port of the loopback interface, and adds the handlers to each TCP connection.
enum HubListener {
    static func bind(_ server: SignalRTestServer) async throws -> any Channel {
        try await ServerBootstrap(group: server.entrance.eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                server.enter {
                    $0.accepted(channel)
                } closed: {
                    channel.close(promise: nil)
                }
                return channel.eventLoop.makeCompletedFuture { try configure(channel, server) }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    private static func configure(_ channel: any Channel, _ server: SignalRTestServer) throws {
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: 64 << 20,
            shouldUpgrade: { channel, head in
                let accepted = channel.eventLoop.makePromise(of: HTTPHeaders?.self)
                let request = ReceivedRequest(head, [])
                // NIO passes a refused upgrade on as a request, which the server answers.
                server.enter {
                    accepted.succeed($0.acceptsUpgrade(request) ? HTTPHeaders() : nil)
                } closed: {
                    accepted.succeed(nil)
                }
                return accepted.futureResult
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOWebSocketFrameAggregator(
                            minNonFinalFragmentSize: 0,
                            maxAccumulatedFrameCount: 100_000,
                            maxAccumulatedFrameSize: 64 << 20
                        ),
                        HubWebSocketHandler(server, ReceivedRequest(head, []))
                    )
                }
            }
        )
        let handler = NIOLoopBound(HubHTTPHandler(server), eventLoop: channel.eventLoop)
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withServerUpgrade: (
                upgraders: [upgrader],
                completionHandler: { context in
                    context.pipeline.syncOperations.removeHandler(handler.value, promise: nil)
                }
            )
        )
        try channel.pipeline.syncOperations.addHandler(handler.value)
    }
}

/// A request with the parts that the brain needs.
struct ReceivedRequest: Sendable {
    var method: String
    var path: String
    var query: [String: String]
    var uri: String
    var headers: [String: String] = [:]
    var body: [UInt8]
}

extension ReceivedRequest {
    init(_ head: HTTPRequestHead, _ body: [UInt8]) {
        method = head.method.rawValue
        uri = head.uri
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts.first.map(String.init) ?? ""
        query = [:]
        for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
            let halves = pair.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
            if let name = halves.first { query[name] = halves.dropFirst().first ?? "" }
        }
        for (name, value) in head.headers { headers[name.lowercased()] = value }
        self.body = body
    }

    var record: TestHubRequest {
        TestHubRequest(method: method, uri: uri, headers: headers, bodySize: body.count)
    }

    /// The kind of the request.
    var step: TestHubStep {
        if path.hasSuffix("/negotiate") { return .negotiate }
        if headers["upgrade"]?.lowercased() == "websocket" { return .webSocket }
        if headers["accept"]?.contains("text/event-stream") == true { return .serverSentEvents }
        switch method {
        case "POST": return .post
        case "DELETE": return .delete
        default: return .poll
        }
    }
}

/// The answer to a request.
struct HubResponse: Sendable {
    var status: Int
    var body: [UInt8] = []
    var headers: [(String, String)] = []

    static func text(_ status: Int, _ body: String, _ headers: [(String, String)] = []) -> HubResponse {
        HubResponse(status: status, body: Array(body.utf8), headers: headers)
    }
}
