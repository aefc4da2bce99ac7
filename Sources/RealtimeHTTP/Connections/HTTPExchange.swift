import Foundation
import NIOCore
import NIOHTTP1
import RealtimeNetworking

/// One request and its response, without redirects, on one event loop.
final class HTTPExchange {
    private enum Stage {
        /// The exchange has not begun, or looks for another connection.
        case unconnected
        /// The client has the maximum number of connections to the server.
        case waiting
        case connecting(HTTPConnections.Attempt)
        case sent(over: HTTPConnection)
        case ended
    }

    let target: Dialer.Target
    private let request: HTTPRequest
    private let head: HTTPRequestHead
    private let connections: HTTPConnections
    /// Whether the exchange uses the client's limited number of connections. Otherwise, it opens its own connection.
    private let isPooled: Bool
    private let initialReadSize: Int
    private var receive: ((HTTPStreamEvent) -> Void)?

    private var stage = Stage.unconnected
    private var connectTimer: Scheduled<Void>?
    private var isReading = true
    private var hasHead = false
    private var hasRepeated = false

    /// - Parameters:
    ///   - initialReadSize: The size of the first reads from a new connection, in bytes.
    ///   - receive: A closure that gets the response, and finally `end` or `failed`.
    init(
        _ request: HTTPRequest,
        over connections: HTTPConnections,
        isPooled: Bool,
        initialReadSize: Int,
        receive: @escaping (HTTPStreamEvent) -> Void
    ) throws(HTTPRequestError) {
        try request.validate()
        let url = try WireURL(request.url)
        self.request = request
        target = url.target
        head = request.head(to: url)
        self.connections = connections
        self.isPooled = isPooled
        self.initialReadSize = initialReadSize
        self.receive = receive
    }

    func start() {
        guard !connections.isShutDown else { return shutdown() }
        connections.began(self)
        connect()
    }

    /// Ends the exchange without an event.
    func cancel() {
        let stage = stage
        self.stage = .ended
        receive = nil
        stopTimer()
        connections.ended(self)
        switch stage {
        case .waiting: connections.stopWaiting(self)
        case .connecting(let attempt):
            attempt.cancel()
            if isPooled { connections.left(target) }
        case .sent(let connection): connection.close()
        case .unconnected, .ended: break
        }
    }

    func shutdown() { fail(HTTPRequestError(.shutDown, "the client was released")) }

    /// Sets whether the exchange reads the response from the socket.
    func setReading(_ isReading: Bool) {
        self.isReading = isReading
        if case .sent(let connection) = stage { connection.setReading(isReading) }
    }

    private func fail(_ error: HTTPRequestError) {
        let receive = receive
        cancel()
        receive?(.failed(error))
    }

    // MARK: The connection

    private func connect() {
        guard isPooled else { return dial() }
        switch connections.way(for: self, isRepetition: hasRepeated) {
        case .connection(let connection): send(over: connection)
        case .connect: dial()
        case .wait:
            stage = .waiting
            limitConnectTime()
        }
    }

    private func limitConnectTime() {
        guard connectTimer == nil else { return }
        let time = TimeAmount(clamping: connections.limits.connectTime)
        connectTimer = connections.eventLoop.assumeIsolated().scheduleTask(in: time) {
            switch self.stage {
            case .connecting(let attempt): self.fail(RequestFailure.connectTimedOut(through: attempt.proxy))
            case .waiting: self.fail(RequestFailure.connectTimedOut(through: nil))
            // An earlier task of this turn of the loop has cancelled the timer.
            case .unconnected, .sent, .ended: break
            }
        }
    }

    private func stopTimer() {
        connectTimer?.cancel()
        connectTimer = nil
    }

    /// Makes a connection for this exchange.
    func dial() {
        limitConnectTime()
        let generation = connections.generation
        do throws(NetworkError) {
            stage = .connecting(
                try connections.connect(target, initialReadSize) { self.dialed($0, generation: generation) }
            )
        } catch {
            stage = .unconnected
            if isPooled { connections.left(target) }
            fail(RequestFailure.invalid(error))
        }
    }

    private func dialed(_ result: Result<any Channel, DialFailure>, generation: Int) {
        guard case .connecting(let attempt) = stage else { return }
        stage = .unconnected
        switch result {
        case .success(let channel):
            do {
                send(
                    over: try HTTPConnection(
                        target,
                        through: attempt.proxy,
                        over: channel,
                        isPooled: isPooled,
                        generation: generation,
                        owner: connections
                    )
                )
            } catch {
                // The channel has closed in the meantime.
                channel.closeAtOnce()
                if isPooled { connections.left(target) }
                fail(RequestFailure.lost(error, hasHead: false, through: attempt.proxy))
            }
        case .failure(let failure):
            if isPooled { connections.left(target) }
            fail(RequestFailure.dialing(failure))
        }
    }

    /// Sends the request over a free connection.
    func send(over connection: HTTPConnection) {
        stopTimer()
        stage = .sent(over: connection)
        if !isReading { connection.setReading(false) }
        connection.send(head, body: request.body.map { ByteBuffer(bytes: $0) }) { self.received($0) }
    }

    // MARK: The response

    private func received(_ event: HTTPConnection.Event) {
        switch event {
        case .head(let head):
            hasHead = true
            var response = HTTPResponse(status: Int(head.status.code))
            for (name, value) in head.headers { response.headers.append(name, value) }
            receive?(.head(response))
        case .body(let bytes): receive?(.body(bytes))
        case .end:
            let receive = receive
            self.receive = nil
            stage = .ended
            connections.ended(self)
            receive?(.end)
        case .lost(let error):
            guard case .sent(let connection) = stage else { return }
            stage = .unconnected
            // The server closes unused connections at any time, and may do so while the request is on its way.
            guard connection.isReused, !hasHead, !hasRepeated, request.mayBeRepeated, RequestFailure.isClosure(error)
            else {
                let isKept = connection.isReused
                return fail(
                    RequestFailure.lost(error, hasHead: hasHead, through: connection.proxy, isKept: isKept)
                )
            }
            hasRepeated = true
            connect()
        }
    }
}

/// The parts of a URL that a request needs.
struct WireURL {
    let target: Dialer.Target
    /// The path and the query, percent-encoded.
    let pathAndQuery: String

    init(_ text: String) throws(HTTPRequestError) {
        // The parser removes percent-encoding from the host, and the host becomes a header field.
        guard let url = URL(string: text), let host = url.host.map(HostName.withoutBrackets), HostName.isValid(host)
        else {
            throw HTTPRequestError(
                .invalidRequest,
                "the URL '\(HTTPRequest.printable(url: text))' has an invalid host"
            )
        }
        let useTLS = url.scheme?.lowercased() == "https"
        target = Dialer.Target(host: host.lowercased(), port: url.port ?? (useTLS ? 443 : 80), useTLS: useTLS)
        let path = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? ""
        let all = (path.hasPrefix("/") ? path : "/\(path)") + (url.query.map { "?\($0)" } ?? "")
        // A space or a line break would end the request line.
        guard all.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw HTTPRequestError(
                .invalidRequest,
                "the URL '\(HTTPRequest.printable(url: text))' has characters that are not percent-encoded"
            )
        }
        pathAndQuery = all
    }
}

extension HTTPRequest {
    /// Whether a server that gets the request twice does the same as for one request (RFC 9110, section 9.2.2).
    private var isIdempotent: Bool { ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method) }

    fileprivate var mayBeRepeated: Bool { isRepeatable ?? isIdempotent }

    /// Makes the request line and the header fields. The fields that determine the body's length depend on the body
    /// alone. Otherwise, the server could take a part of the body for another request.
    fileprivate func head(to url: WireURL) -> HTTPRequestHead {
        var fields = HTTPHeaders(headers.fields.map { ($0.name, $0.value) })
        if !fields.contains(name: "Host") { fields.add(name: "Host", value: url.target.authority) }
        fields.remove(name: "Content-Length")
        fields.remove(name: "Transfer-Encoding")
        let length = body?.count ?? 0
        if length > 0 || !["GET", "HEAD", "DELETE", "CONNECT", "TRACE"].contains(method) {
            fields.add(name: "Content-Length", value: String(length))
        }
        return HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: method),
            uri: url.pathAndQuery,
            headers: fields
        )
    }
}
