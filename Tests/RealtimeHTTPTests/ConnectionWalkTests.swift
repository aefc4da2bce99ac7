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

    @Test(
        "each request ends once with its own response, in order and unrepeated, and no connection remains",
        arguments: 0..<count
    )
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
        let method: String
        let isPooled: Bool
        let call: HTTPCall
        var body = ""
        var isOver = false
        /// The numbers of the steps in which the client has sent the request, or has begun to connect for it.
        var starts: [Int] = []
        /// The number of these steps before the last redirect, after which the request may be repeated once more.
        var redirectedStarts = 0
        /// The body of the answer to the last such request, if all of the answer has arrived.
        var answer: String?

        init(id: Int, target: Dialer.Target, method: String, isPooled: Bool, call: HTTPCall) {
            self.id = id
            self.target = target
            self.method = method
            self.isPooled = isPooled
            self.call = call
        }
    }

    /// The server's side of a connection.
    private final class Peer {
        let target: Dialer.Target
        let channel: EmbeddedChannel
        /// The step in which the client began to connect.
        let dialStep: Int
        /// The request that the server has to answer, with the rest of the answer that it has not sent.
        var request: Request?
        var answered: (request: Request, body: String?)?
        var rest: [UInt8] = []
        var served = 0
        var closesAfterAnswer = false
        /// Whether the rest arrives at once.
        var isWhole = false

        init(_ dial: Network.PendingDial, _ channel: EmbeddedChannel) {
            target = dial.target
            dialStep = dial.step
            self.channel = channel
        }
    }

    /// The attempts to connect that have not ended.
    private final class Network {
        struct PendingDial {
            let target: Dialer.Target
            let id: Int
            let step: Int
            let completion: (Result<any Channel, DialFailure>) -> Void
        }

        var dials: [PendingDial] = []
        /// The number of the walk's current step.
        var step = 0
        private var serial = 0

        func dial(
            _ target: Dialer.Target,
            completion: @escaping (Result<any Channel, DialFailure>) -> Void
        ) -> HTTPConnections.Attempt {
            serial += 1
            let id = serial
            dials.append(PendingDial(target: target, id: id, step: step, completion: completion))
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
        network.step += 1
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
            network.step += 1
            completeDial()
            settle()
            network.step += 1
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
        let method = ["GET", "POST", "HEAD"].randomElement(using: &random) ?? "GET"
        let target = Dialer.Target(host: host, port: 80, useTLS: false)
        let made = Request(id: id, target: target, method: method, isPooled: rules.isPooled, call: call)
        request = made
        requests.append(made)
        call.send(HTTPRequest.to(url, method: method, body: method == "POST" ? String(repeating: "b", count: 99) : nil))
    }

    private func received(_ event: HTTPStreamEvent, for request: Request) {
        guard !request.isOver else {
            problems.append("request \(request.id) got \(event) after its end")
            return
        }
        switch event {
        case .head(let response):
            if response.headers["X"] != nil { problems.append("request \(request.id) got another head") }
        case .body(let bytes): request.body += String(buffer: bytes)
        case .end:
            request.isOver = true
            endings.insert("end")
            if request.body != request.answer {
                problems.append("request \(request.id) got '\(request.body)', not '\(request.answer ?? "an error")'")
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
        peers.append(Peer(dial, channel))
        dial.completion(.success(channel))
    }

    // MARK: The server

    private func readRequests() {
        for peer in peers {
            while let bytes = try? peer.channel.readOutbound(as: ByteBuffer.self) {
                let text = String(buffer: bytes)
                guard let line = text.split(separator: "\r\n").first, line.hasSuffix("HTTP/1.1") else { continue }
                guard let id = line.split(separator: " ").dropFirst().first.flatMap({ Int($0.dropFirst()) }),
                    let request = requests.first(where: { $0.id == id })
                else {
                    problems.append("the client sent '\(line)'")
                    continue
                }
                guard peer.request == nil, peer.rest.isEmpty else {
                    problems.append("the client sent a request before the end of a response")
                    continue
                }
                if peer.served > 0 { endings.insert("reused") }
                peer.request = request
                request.answer = nil
                request.starts.append(peer.served > 0 ? network.step : peer.dialStep)
                checkStarts(of: request)
            }
        }
    }

    /// Checks that the client repeats only requests that it may repeat, and that no request overtakes an older one that
    /// waits for a connection to the same server.
    private func checkStarts(of request: Request) {
        let count = request.starts.count - request.redirectedStarts
        if count > (request.method == "POST" ? 1 : 2) {
            problems.append("request \(request.id), a \(request.method), arrived \(count) times")
        }
        guard request.isPooled, request.starts.count == 1, let start = request.starts.first else { return }
        for younger in requests where younger.id > request.id && younger.isPooled && younger.target == request.target {
            if let first = younger.starts.first, first < start {
                problems.append("request \(younger.id) has overtaken request \(request.id)")
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
            let (text, body) = answer(to: request, from: peer)
            peer.rest = Array(text.utf8)
            peer.answered = (request, body)
        }
        // Often, only a part of the answer arrives at once.
        let count = chance(3) && !peer.isWhole ? Int.random(in: 0...peer.rest.count, using: &random) : peer.rest.count
        let part = Array(peer.rest.prefix(count))
        peer.rest.removeFirst(count)
        if peer.rest.isEmpty, let (request, body) = peer.answered { request.answer = body }
        if !part.isEmpty { _ = try? peer.channel.writeInbound(ByteBuffer(bytes: part)) }
        if peer.rest.isEmpty, peer.closesAfterAnswer { peer.channel.close(promise: nil) }
    }

    /// Returns the text of an answer, and its body; nil for the body if the answer is not HTTP.
    private func answer(to request: Request, from peer: Peer) -> (String, body: String?) {
        let text = "answer to /\(request.id)"
        let body = request.method == "HEAD" ? "" : text
        let length = text.utf8.count
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return ("HTTP/1.1 204 No Content\r\n\r\n", "")
        case 1:
            request.redirectedStarts = request.starts.count
            return ("HTTP/1.1 307 Moved\r\nLocation: /\(request.id)\r\nContent-Length: 0\r\n\r\n", "")
        case 2:
            // If the connection closed earlier, the client could not notice that a part is missing.
            (peer.closesAfterAnswer, peer.isWhole) = (true, true)
            return ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(body)", body)
        case 3 where request.method != "HEAD":
            let size = String(body.utf8.count, radix: 16)
            return ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(body)\r\n0\r\n\r\n", body)
        case 4: return ("HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(body)", body)
        case 5:
            // The rest must not become the answer to another request. If it came later, nothing could prevent that.
            peer.isWhole = true
            let rests = [
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "H", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nX:",
                "HTTP/1.1 103 X\r\nX:",
            ]
            let rest = rests.randomElement(using: &random) ?? ""
            return ("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(body)\(rest)", body)
        case 6: return ("nothing of HTTP\r\n\r\n", nil)
        default: return ("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(body)", body)
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
