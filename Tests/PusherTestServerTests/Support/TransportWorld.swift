import NIOCore
import NIOEmbedded
import RealtimeJSON

@testable import PusherTestServer

/// A server in memory and clients of HTTP transports. The clients' requests are like the requests of pusher-js.
final class TransportWorld {
    let loop = EmbeddedEventLoop()
    let network: InMemoryServer
    var server: PusherTestServer { network.server }
    private var requests = 0

    init(_ change: (inout Options) -> Void = { _ in }) {
        var options = Options()
        options.socketIDPrefix = 7
        options.httpTransports.sendsPrelude = false
        options.httpTransports.disconnectDelay = .seconds(5)
        change(&options)
        network = InMemoryServer(eventLoop: loop, options: options)
    }

    deinit {
        // Drop the connections, because server, exchanges and timers retain each other.
        server.dropConnections()
        network.latency = .zero
        network.restoreLinks()
        network.cutLinks()
        loop.run()
        try? loop.syncShutdownGracefully()
    }

    /// The parts of one response that a client has received.
    final class Response {
        fileprivate(set) var exchange: InMemoryExchange?
        private let events: NIOLoopBoundBox<[InMemoryResponseEvent]>
        private var read = 0

        fileprivate init(_ events: NIOLoopBoundBox<[InMemoryResponseEvent]>) { self.events = events }

        var status: Int? {
            for case .head(let status, _) in events.value { return status }
            return nil
        }

        func header(_ name: String) -> String? {
            for case .head(_, let headers) in events.value { return headers.first(named: name) }
            return nil
        }

        var body: String {
            events.value.reduce(into: "") { text, event in
                if case .body(let bytes) = event { text += String(buffer: bytes) }
            }
        }

        /// Returns the part of the body that arrived since the last call.
        func next() -> String {
            let body = body
            defer { read = body.utf8.count }
            return String(decoding: Array(body.utf8).dropFirst(read), as: UTF8.self)
        }

        var hasEnded: Bool { events.value.contains(.end) }

        var hasFailed: Bool {
            events.value.contains { event in
                if case .failed = event { true } else { false }
            }
        }

        var isOpen: Bool { !hasEnded && !hasFailed }
        var isSilent: Bool { events.value.isEmpty }

        func abort() { exchange?.abort() }
    }

    static let session = "/app/app-key/123/abcdefgh"

    func stream(_ session: String = session, query: String = "protocol=7&client=js&version=8.6.0") -> Response {
        request("\(session)/xhr_streaming?\(query)&t=1700000000000&n=\(nextNumber())")
    }

    func poll(_ session: String = session, query: String = "protocol=7&client=js&version=8.6.0") -> Response {
        request("\(session)/xhr?\(query)&t=1700000000000&n=\(nextNumber())")
    }

    func send(_ body: String, _ session: String = session) -> Response {
        request("\(session)/xhr_send?t=1700000000000&n=\(nextNumber())", body: body)
    }

    /// Sends messages of the protocol in one request.
    func send(messages: [String], _ session: String = session) -> Response {
        send(JSONWriter.array(messages.map { JSONWriter.string($0) }), session)
    }

    func request(
        _ target: String,
        method: String = "POST",
        headers: HTTPHeaderFields = [.init(name: "Content-Type", value: "application/json")],
        body: String = ""
    ) -> Response {
        let events = NIOLoopBoundBox<[InMemoryResponseEvent]>([], eventLoop: loop)
        let response = Response(events)
        let request = InMemoryRequest(method: method, target: target, headers: headers, body: body)
        response.exchange = network.request(request, on: loop) { event in events.value.append(event) }
        loop.run()
        return response
    }

    func advance(by time: TimeAmount) { loop.advanceTime(by: time) }

    func run() { loop.run() }

    private func nextNumber() -> Int {
        requests += 1
        return requests
    }
}

/// Returns the line with these messages.
func frame(_ messages: String...) -> String { "a" + JSONWriter.array(messages.map { JSONWriter.string($0) }) + "\n" }

/// Returns the line that greets the nth connection.
func greeting(_ number: Int = 1) -> String {
    frame(Dialect.pusher.connectionEstablished(socketID: "7.\(number)", activityTimeout: 120))
}
