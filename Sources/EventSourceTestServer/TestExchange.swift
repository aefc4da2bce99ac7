import Foundation
import NIOConcurrencyHelpers
import NIOCore
public import RealtimeNetworking
import RealtimeTestHTTP

/// A request that a server has received. Printing a request does not show its query, header fields and body, which may
/// be secret.
public struct TestRequest: Hashable, Sendable {
    /// The HTTP method.
    public var method: String
    /// The path and the query.
    public var target: String
    /// The header fields, in order.
    public var headers: HTTPHeaderFields
    /// The body.
    public var body: [UInt8]

    /// The path, without the query.
    public var path: String { String(target.prefix { $0 != "?" }) }

    /// The body as text.
    public var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// Returns the value of a header field. Names are case-insensitive.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

extension TestRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the path.
    public var description: String { "\(method) \(path)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A request and its answer, for a closure that answers requests. See ``EventSourceTestServer/respond(at:_:)``.
///
/// All methods except ``disconnected()`` throw if the connection is closed.
public final class TestExchange: Sendable {
    /// The request.
    public let request: TestRequest
    /// The number of requests for the path so far, including this request.
    public let number: Int
    private struct State {
        /// The timers of the current waits.
        var timers: [Int: Scheduled<Void>] = [:]
        var timerCount = 0
        var isDisconnected = false
    }

    private let exchange: HTTPTestExchange
    private let state = NIOLockedValueBox(State())

    init(_ request: TestRequest, number: Int, _ exchange: HTTPTestExchange) {
        self.request = request
        self.number = number
        self.exchange = exchange
        // If the connection closes, a wait ends early.
        exchange.channel.closeFuture.whenComplete { [state] _ in
            let timers = state.withLockedValue { state in
                defer { (state.timers, state.isDisconnected) = ([:], true) }
                return state.timers.values
            }
            for timer in timers { timer.cancel() }
        }
    }

    /// Answers with a status and an empty body. The answer has no `Content-Type`.
    public func respond(status: Int) async throws { try await respond(status, nil, [:], []) }

    /// Answers with a JSON text, as it is: `exchange.respond(json: #"{"id":1}"#)`.
    ///
    /// - Parameters:
    ///   - json: The text. It is not checked, so a test can also send invalid JSON.
    ///   - status: The HTTP status. Default: 200.
    ///   - headers: Header fields, besides `Content-Type: application/json`. A value of `nil` removes that field. Default:
    ///     none.
    public func respond(json: String, status: Int = 200, headers: [String: String?] = [:]) async throws {
        try await respond(status, "application/json", headers, Array(json.utf8))
    }

    /// Answers with a value as JSON.
    ///
    /// - Parameters:
    ///   - value: The value, which `JSONEncoder` writes with its default options and without escaped slashes.
    ///   - status: The HTTP status. Default: 200.
    ///   - headers: Header fields, besides `Content-Type: application/json`. A value of `nil` removes that field. Default:
    ///     none.
    /// - Throws: `EncodingError` if the value cannot be written. Throws also if the connection is closed.
    public func respond(
        json value: some Encodable & Sendable,
        status: Int = 200,
        headers: [String: String?] = [:]
    ) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let text = String(decoding: try encoder.encode(value), as: UTF8.self)
        try await respond(json: text, status: status, headers: headers)
    }

    private func respond(
        _ status: Int,
        _ contentType: String?,
        _ headers: [String: String?],
        _ body: [UInt8]
    ) async throws {
        var fields = contentType.map { [HTTPTestField(name: "Content-Type", value: $0)] } ?? []
        // Other answers have no body, so they have no length either.
        if status >= 200, status != 204, status != 304 {
            fields.append(HTTPTestField(name: "Content-Length", value: "\(body.count)"))
        }
        try await begin(status, fields, headers, .counted)
        if !body.isEmpty { try await send(body) }
        try await end()
    }

    /// Sends the status and the header fields.
    ///
    /// - Parameters:
    ///   - status: The HTTP status. Default: 200.
    ///   - headers: Header fields, besides `Content-Type: text/event-stream` and `Cache-Control: no-cache`. A value of
    ///     `nil` removes one of these two fields. Default: none.
    ///   - framing: The way in which the client detects the end of the body. Default: chunked.
    public func start(
        status: Int = 200,
        headers: [String: String?] = [:],
        framing: TestResponse.Framing = .chunked
    ) async throws {
        let fields = [
            HTTPTestField(name: "Content-Type", value: "text/event-stream"),
            HTTPTestField(name: "Cache-Control", value: "no-cache"),
        ]
        let way: HTTPTestExchange.Framing =
            switch framing {
            case .chunked: .chunked
            case .contentLength: .counted
            case .untilClose: .untilClose
            }
        try await begin(status, fields, headers, way)
    }

    /// Sends the status and the header fields. A field of `headers` replaces the one with the same name, ignoring case,
    /// and `nil` removes it.
    private func begin(
        _ status: Int,
        _ fields: [HTTPTestField],
        _ headers: [String: String?],
        _ framing: HTTPTestExchange.Framing
    ) async throws {
        var fields = fields
        for (name, value) in headers {
            fields.removeAll { $0.name.lowercased() == name.lowercased() }
            if let value { fields.append(HTTPTestField(name: name, value: value)) }
        }
        exchange.begin(status: status, fields: fields, framing: framing)
        try await flush()
    }

    /// Sends bytes of the body, and returns when the system has accepted them.
    public func send(_ bytes: [UInt8]) async throws { try await write(ByteBuffer(bytes: bytes)) }

    /// Sends text of the body, and returns when the system has accepted the bytes.
    public func send(_ text: String) async throws { try await write(ByteBuffer(string: text)) }

    /// Sends the same event `count` times, and returns when the system has accepted all bytes.
    public func sendEvents(count: Int, data: String) async throws {
        let event = ByteBuffer(string: "data: \(data)\n\n")
        let perBlock = max(1, 65_536 / event.readableBytes)
        var left = count
        while left > 0 {
            let size = min(left, perBlock)
            let block = ByteBuffer(repeatingBytesOf: event, count: size)
            try await write(block)
            left -= size
        }
    }

    /// Ends the body. The connection stays open for another request, unless the framing is
    /// ``TestResponse/Framing/untilClose``.
    public func end() async throws {
        try await exchange.end().get()
    }

    /// Waits for a duration of at most 30 years.
    public func wait(for duration: Duration) async throws {
        let (seconds, attoseconds) = min(max(duration, .zero), .seconds(900_000_000)).components
        let delay = TimeAmount.nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        let timer = exchange.channel.eventLoop.scheduleTask(in: delay) {}
        let id: Int? = state.withLockedValue { state in
            guard !state.isDisconnected else { return nil }
            state.timerCount += 1
            state.timers[state.timerCount] = timer
            return state.timerCount
        }
        guard let id else {
            timer.cancel()
            throw ChannelError.alreadyClosed
        }
        defer { state.withLockedValue { _ = $0.timers.removeValue(forKey: id) } }
        try await timer.futureResult.get()
    }

    /// Resets the TCP connection.
    public func reset() async throws {
        if let socket = exchange.channel as? any SocketOptionProvider {
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await disconnect()
    }

    /// Closes the TCP connection without a TLS shutdown, even if the body is not complete.
    public func disconnect() async throws {
        guard exchange.channel.isActive else { throw ChannelError.alreadyClosed }
        exchange.drop()
        try await exchange.channel.closeFuture.get()
    }

    /// Closes the server's half of the TCP connection, even if the body is not complete. The client's half stays open.
    public func endSending() async throws { try await exchange.channel.close(mode: .output) }

    /// Waits until the connection is closed.
    public func disconnected() async { try? await exchange.channel.closeFuture.get() }

    /// Answers with a scripted response.
    public func play(_ response: TestResponse) async throws {
        try await start(status: response.status, headers: response.headers, framing: response.framing)
        for step in response.steps {
            switch step {
            case .send(let text): try await send(text)
            case .bytes(let bytes): try await send(bytes)
            case .wait(let duration): try await wait(for: duration)
            case .every(let duration, let text, let times):
                for _ in 0..<max(0, times) {
                    try await wait(for: duration)
                    try await send(text)
                }
            case .events(let count, let data): try await sendEvents(count: count, data: data)
            case .reset: return try await reset()
            case .disconnect: return try await disconnect()
            }
        }
        if response.holds { await disconnected() } else { try await end() }
    }

    private func write(_ bytes: ByteBuffer) async throws {
        let sent = exchange.write(bytes)
        exchange.flush()
        try await sent.get()
    }

    private func flush() async throws { try await exchange.channel.writeAndFlush(ByteBuffer()) }
}

extension ByteBuffer {
    fileprivate init(repeatingBytesOf bytes: ByteBuffer, count: Int) {
        self.init()
        reserveCapacity(bytes.readableBytes * count)
        for _ in 0..<count { writeImmutableBuffer(bytes) }
    }
}
