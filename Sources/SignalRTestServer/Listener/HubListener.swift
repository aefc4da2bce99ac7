import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import SignalRClient

/// Binds a port of the loopback interface, and adds the handlers to each TCP connection.
enum HubListener {
    private static let host = "127.0.0.1"

    /// - Parameter port: The port, or 0 for a free port.
    static func bind(_ server: SignalRTestServer, port: Int) async throws -> any Channel {
        guard (0...65_535).contains(port) else { throw failure(port, nil) }
        do {
            return try await bootstrap(server).bind(host: host, port: port).get()
        } catch {
            throw failure(port, error)
        }
    }

    private static func failure(_ port: Int, _ cause: (any Error)?) -> SignalRClientError {
        SignalRClientError(
            .connectionFailed,
            "Server not started: it cannot listen on \(host), port \(port). Choose another port, or 0 for any.",
            cause: cause
        )
    }

    private static func bootstrap(_ server: SignalRTestServer) -> ServerBootstrap {
        ServerBootstrap(group: server.entrance.eventLoop)
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
    }

    private static func configure(_ channel: any Channel, _ server: SignalRTestServer) throws {
        let handlers: [any RemovableChannelHandler] = [
            HTTPResponseEncoder(),
            // The decoder passes on bytes that follow an upgrade request in the same packet.
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes)),
            HTTPServerPipelineHandler(), HTTPServerProtocolErrorHandler(),
        ]
        let pipeline = channel.pipeline.syncOperations
        for handler in handlers { try pipeline.addHandler(handler) }
        try pipeline.addHandler(HubHTTPHandler(server, after: handlers))
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
        if path.hasSuffix("/refresh") { return .refresh }
        if headers["upgrade"]?.lowercased() == "websocket" { return .webSocket }
        if headers["accept"]?.contains("text/event-stream") == true { return .serverSentEvents }
        switch method {
        case "POST": return .post
        case "DELETE": return .delete
        default: return .poll
        }
    }

    /// Whether the path is the hub's path, or the path of its negotiation or of its refresh.
    var isForHub: Bool {
        let path = path.hasSuffix("/") ? String(path.dropLast()) : path
        return ["", "/negotiate", "/refresh"].contains { path == SignalRTestServer.path + $0 }
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
