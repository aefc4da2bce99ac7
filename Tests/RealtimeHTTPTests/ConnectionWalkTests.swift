import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@testable import RealtimeHTTP
@testable import RealtimeNetworking

/// Random walks over the connections of a client, in virtual time and without sockets.
@Suite("Random walks over HTTP connections", .limited)
struct ConnectionWalkTests {
    /// The number of walks. The environment variable `HTTP_WALKS` changes it.
    private static let count = ProcessInfo.processInfo.environment["HTTP_WALKS"].flatMap { Int($0) } ?? 64

    @Test("each request ends once with its own response, and no connection remains", arguments: 0..<count)
    func walk(seed: Int) {
        let walk = ConnectionWalk(seed: UInt64(seed))
        walk.run()
        #expect(walk.problems == [])
    }

    @Test("the walks reach every ending")
    func endings() {
        let walks = (0..<16).map { ConnectionWalk(seed: $0) }
        for walk in walks { walk.run() }
        #expect(
            walks.reduce(into: Set()) { $0.formUnion($1.endings) } == [
                "end", "reused", "cancelled", "failed unsent", "failed", "timedOut unsent", "shutDown",
                "redirectRefused",
            ]
        )
    }
}

/// A client, its servers, and a model of what the client must do.
private final class ConnectionWalk {
    /// A request of the walk.
    private final class Request {
        let id: Int
        let target: Dialer.Target
        let call: HTTPCall
        var body = ""
        var isOver = false

        init(id: Int, target: Dialer.Target, call: HTTPCall) {
            self.id = id
            self.target = target
            self.call = call
        }
    }

    /// The server's side of a connection.
    private final class Peer {
        let target: Dialer.Target
        let channel: EmbeddedChannel
        /// The request that the server has to answer, with the rest of the answer that it has not sent.
        var request: String?
        var rest: [UInt8] = []
        var served = 0
        var closesAfterAnswer = false
        /// Whether the rest arrives at once.
        var isWhole = false

        init(_ target: Dialer.Target, _ channel: EmbeddedChannel) {
            self.target = target
            self.channel = channel
        }
    }

    /// The attempts to connect that have not ended.
    private final class Network {
        struct PendingDial {
            let target: Dialer.Target
            let id: Int
            let completion: (Result<any Channel, DialFailure>) -> Void
        }

        var dials: [PendingDial] = []
        private var serial = 0

        func dial(
            _ target: Dialer.Target,
            completion: @escaping (Result<any Channel, DialFailure>) -> Void
        ) -> HTTPConnections.Attempt {
            serial += 1
            let id = serial
            dials.append(PendingDial(target: target, id: id, completion: completion))
            return HTTPConnections.Attempt(proxy: nil) { self.dials.removeAll { $0.id == id } }
        }
    }

    private static let limit = 3
    private let loop = EmbeddedEventLoop()
    private var random: SeededGenerator
    private let connections: HTTPConnections
    private let network: Network
    private var requests: [Request] = []
    private var peers: [Peer] = []
    private var serial = 0
    private(set) var problems: [String] = []
    /// The kinds of endings that the walk has reached.
    private(set) var endings: Set<String> = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let limits = HTTPConnections.Limits(connections: Self.limit, connectTime: .seconds(10), idleTime: .seconds(4))
        let network = Network()
        self.network = network
        connections = HTTPConnections(on: loop, limits) { network.dial($0, completion: $2) }
    }

    private func chance(_ one: Int) -> Bool { random.oneIn(one) }

    func run() {
        for _ in 0..<400 { step() }
        finish()
    }

    private func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: begin()
        case 25..<40: completeDial()
        case 40..<70: serve()
        case 70..<78: cancel()
        case 78..<84: disturb()
        case 84..<90: loop.advanceTime(by: .milliseconds(Int64.random(in: 0...6_000, using: &random)))
        case 90..<94: requests.randomElement(using: &random)?.call.setReading(chance(2))
        case 94..<96: connections.retireConnections()
        default: if chance(60) { connections.shutdown() }
        }
        settle()
    }

    /// Ends the walk. The server answers everything, or the client shuts down.
    private func finish() {
        if chance(2) { connections.shutdown() }
        for _ in 0..<2_000 where !(network.dials.isEmpty && requests.allSatisfy { $0.isOver }) {
            completeDial()
            serve()
            settle()
        }
        loop.advanceTime(by: .seconds(30))
        settle()
        for request in requests where !request.isOver { problems.append("request \(request.id) did not end") }
        if let open = peers.first(where: { $0.channel.isActive }) { problems.append("open: \(open.target)") }
        if !network.dials.isEmpty { problems.append("dials remain") }
        if !connections.isEmpty { problems.append("the client still counts connections") }
    }

    private func begin() {
        guard requests.count(where: { !$0.isOver }) < 12 else { return }
        serial += 1
        let id = serial
        let host = ["a.test", "b.test"].randomElement(using: &random) ?? "a.test"
        var rules = HTTPCall.Rules(redirects: .sameOrigin, maximumRedirects: 1, isPooled: !chance(5))
        if chance(4) { rules.redirects = nil }
        let url = "http://\(host)/\(id)"
        var request: Request?
        let call = HTTPCall(over: connections, rules) { [unowned self] event in
            guard let request else { return }
            self.received(event, for: request)
        }
        let made = Request(id: id, target: Dialer.Target(host: host, port: 80, useTLS: false), call: call)
        request = made
        requests.append(made)
        let method = ["GET", "POST", "HEAD"].randomElement(using: &random) ?? "GET"
        call.send(HTTPRequest.to(url, method: method, body: method == "POST" ? String(repeating: "b", count: 99) : nil))
    }

    private func received(_ event: HTTPStreamEvent, for request: Request) {
        guard !request.isOver else {
            problems.append("request \(request.id) got \(event) after its end")
            return
        }
        switch event {
        case .head: break
        case .body(let bytes): request.body += String(buffer: bytes)
        case .end:
            request.isOver = true
            endings.insert("end")
            if request.body != "", request.body != "answer to /\(request.id)" {
                problems.append("request \(request.id) got '\(request.body)'")
            }
        case .failed(let error):
            request.isOver = true
            endings.insert("\(error.kind)\(error.isUnsent ? " unsent" : "")")
        }
    }

    private func cancel() {
        guard let request = requests.filter({ !$0.isOver }).randomElement(using: &random) else { return }
        request.call.cancel()
        request.isOver = true
        endings.insert("cancelled")
    }

    private func completeDial() {
        guard let dial = network.dials.randomElement(using: &random) else { return }
        network.dials.removeAll { $0.id == dial.id }
        if chance(6) {
            return dial.completion(
                .failure(.notConnected(to: dial.target, through: nil, ChannelError.connectTimeout(.seconds(1))))
            )
        }
        let channel = EmbeddedChannel(loop: loop)
        _ = try? channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        peers.append(Peer(dial.target, channel))
        dial.completion(.success(channel))
    }

    // MARK: The server

    private func readRequests() {
        for peer in peers {
            while let bytes = try? peer.channel.readOutbound(as: ByteBuffer.self) {
                let text = String(buffer: bytes)
                guard let line = text.split(separator: "\r\n").first, line.hasSuffix("HTTP/1.1") else { continue }
                let parts = line.split(separator: " ")
                guard peer.request == nil, peer.rest.isEmpty else {
                    problems.append("the client sent a request before the end of a response")
                    continue
                }
                if peer.served > 0 { endings.insert("reused") }
                peer.request = "\(parts[0]) \(parts[1])"
            }
        }
    }

    private func serve() {
        guard let peer = peers.filter({ $0.request != nil || !$0.rest.isEmpty }).randomElement(using: &random) else {
            return
        }
        if let request = peer.request {
            peer.request = nil
            peer.served += 1
            peer.rest = Array(answer(to: request, from: peer).utf8)
        }
        // Often, only a part of the answer arrives at once.
        let count = chance(3) && !peer.isWhole ? Int.random(in: 0...peer.rest.count, using: &random) : peer.rest.count
        let part = Array(peer.rest.prefix(count))
        peer.rest.removeFirst(count)
        if !part.isEmpty { _ = try? peer.channel.writeInbound(ByteBuffer(bytes: part)) }
        if peer.rest.isEmpty, peer.closesAfterAnswer { peer.channel.close(promise: nil) }
    }

    private func answer(to request: String, from peer: Peer) -> String {
        let parts = request.split(separator: " ")
        let (method, path) = (parts[0], parts[1])
        let body = method == "HEAD" ? "" : "answer to \(path)"
        let length = "answer to \(path)".utf8.count
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return "HTTP/1.1 204 No Content\r\n\r\n"
        case 1: return "HTTP/1.1 307 Moved\r\nLocation: \(path)\r\nContent-Length: 0\r\n\r\n"
        case 2:
            // If the connection closed earlier, the client could not notice that a part is missing.
            (peer.closesAfterAnswer, peer.isWhole) = (true, true)
            return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(body)"
        case 3 where method != "HEAD":
            let size = String(body.utf8.count, radix: 16)
            return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(body)\r\n0\r\n\r\n"
        case 4: return "HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(body)"
        case 5:
            // The rest must not become the answer to another request. If it came later, nothing could prevent that.
            peer.isWhole = true
            let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
            return "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(body)\(evil)"
        case 6: return "nothing of HTTP\r\n\r\n"
        default: return "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(body)"
        }
    }

    private func disturb() {
        guard let peer = peers.filter({ $0.channel.isActive }).randomElement(using: &random) else { return }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: peer.channel.close(promise: nil)
        case 1: peer.channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
        default:
            guard peer.request == nil, peer.rest.isEmpty else { return }
            _ = try? peer.channel.writeInbound(ByteBuffer(string: "x"))
        }
    }

    /// Runs what is due now, and compares the client with the model.
    private func settle() {
        loop.run()
        readRequests()
        peers.removeAll { !$0.channel.isActive }
        for host in ["a.test", "b.test"] {
            let target = Dialer.Target(host: host, port: 80, useTLS: false)
            let count = connections.count(of: target)
            if count > Self.limit { problems.append("\(count) connections to \(host)") }
        }
    }
}
