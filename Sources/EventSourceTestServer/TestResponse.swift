/// A scripted answer of the server to one request.
public struct TestResponse: Hashable, Sendable, Codable {
    /// A step of an answer.
    public enum Step: Hashable, Sendable {
        /// Sends text.
        case send(String)
        /// Sends bytes.
        case bytes([UInt8])
        /// Waits.
        case wait(Duration)
        /// Waits and then sends text, `times` times in total.
        case every(Duration, send: String, times: Int)
        /// Sends the same event `count` times, as fast as the client reads.
        case events(count: Int, data: String)
        /// Resets the TCP connection.
        case reset
        /// Closes the TCP connection before the body is complete.
        case disconnect
    }

    /// The way in which the client detects the end of the body.
    public enum Framing: String, Hashable, Sendable, Codable {
        /// The server sends the body in chunks. Each text and each array of bytes in a step is a chunk of its own.
        case chunked
        /// The test sets the size by a `Content-Length` field in ``TestResponse/headers``.
        case contentLength
        /// The body ends when the server closes the connection.
        case untilClose
    }

    /// The HTTP status. Default: 200.
    public var status: Int
    /// Header fields, besides `Content-Type: text/event-stream` and `Cache-Control: no-cache`. A value of `nil` removes
    /// one of these two fields. Default: none.
    public var headers: [String: String?]
    /// The way in which the client detects the end of the body. Default: chunked.
    public var framing: Framing
    /// The steps after the status and the header fields. Default: none.
    public var steps: [Step]
    /// Whether the server leaves the response open after the last step, until the client disconnects. Default: false.
    public var holds: Bool

    /// Creates a response.
    public init(
        status: Int = 200,
        headers: [String: String?] = [:],
        framing: Framing = .chunked,
        steps: [Step] = [],
        holds: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.framing = framing
        self.steps = steps
        self.holds = holds
    }

    /// Sends text, and completes the response.
    public static func text(_ text: String) -> TestResponse { TestResponse(steps: [.send(text)]) }

    /// Sends text, and leaves the response open.
    public static func open(_ text: String = "") -> TestResponse { TestResponse(steps: [.send(text)], holds: true) }

    /// Redirects to a location. If the location is `nil`, the response has no `Location` field.
    public static func redirect(_ status: Int, to location: String?) -> TestResponse {
        TestResponse(status: status, headers: location.map { ["Location": $0] } ?? [:])
    }

    private enum CodingKeys: String, CodingKey {
        case status, headers, framing, steps
        case holds = "hold"
    }

    /// Reads a response from JSON: `{"status": 200, "headers": {}, "steps": [{"send": "data: x\n\n"}], "hold": true}`.
    /// Missing members get default values.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            status: values.decodeIfPresent(Int.self, forKey: .status) ?? 200,
            headers: values.decodeIfPresent([String: String?].self, forKey: .headers) ?? [:],
            framing: values.decodeIfPresent(Framing.self, forKey: .framing) ?? .chunked,
            steps: values.decodeIfPresent([Step].self, forKey: .steps) ?? [],
            holds: values.decodeIfPresent(Bool.self, forKey: .holds) ?? false
        )
    }
}

/// As JSON, a step is an object: `{"send": "text"}`, `{"hex": "e282"}`, `{"wait": 0.2}`,
/// `{"every": 0.1, "send": ":\n\n", "times": 5}`, `{"bench": {"count": 1000, "data": "x"}}`, `{"reset": true}` or
/// `{"disconnect": true}`. Times are in seconds.
extension TestResponse.Step: Codable {
    private struct Events: Codable {
        var count: Int
        var data: String
    }

    private struct Fields: Codable {
        var send: String?
        var hex: String?
        var wait: Double?
        var every: Double?
        var times: Int?
        var bench: Events?
        var reset: Bool?
        var disconnect: Bool?
    }

    /// Reads a step from JSON.
    public init(from decoder: any Decoder) throws {
        let fields = try Fields(from: decoder)
        if let every = fields.every {
            self = .every(Self.duration(seconds: every), send: fields.send ?? "", times: fields.times ?? 1)
        } else if let wait = fields.wait {
            self = .wait(Self.duration(seconds: wait))
        } else if let bench = fields.bench {
            self = .events(count: bench.count, data: bench.data)
        } else if let text = fields.send {
            self = .send(text)
        } else if let bytes = fields.hex.flatMap({ Self.bytes(hex: $0) }) {
            self = .bytes(bytes)
        } else if fields.reset == true {
            self = .reset
        } else if fields.disconnect == true {
            self = .disconnect
        } else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "unknown step"))
        }
    }

    /// Writes the step as JSON.
    public func encode(to encoder: any Encoder) throws {
        var fields = Fields()
        switch self {
        case .send(let text): fields.send = text
        case .bytes(let bytes): fields.hex = bytes.map(Self.hex).joined()
        case .wait(let duration): fields.wait = duration / .seconds(1)
        case .every(let duration, let text, let times):
            (fields.every, fields.send, fields.times) = (duration / .seconds(1), text, times)
        case .events(let count, let data): fields.bench = Events(count: count, data: data)
        case .reset: fields.reset = true
        case .disconnect: fields.disconnect = true
        }
        try fields.encode(to: encoder)
    }

    /// Limits the time, because JSON allows numbers that a `Duration` cannot represent.
    private static func duration(seconds: Double) -> Duration { .seconds(min(max(seconds, 0), 900_000_000)) }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return byte < 16 ? "0\(digits)" : digits
    }

    private static func bytes(hex: String) -> [UInt8]? {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == hex.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
