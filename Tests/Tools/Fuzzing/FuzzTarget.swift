/// A part of the client that reads input from the network, with the checks for every input.
enum FuzzTarget: String, CaseIterable {
    /// Pieces of text for the UTF-8 validator.
    case utf8
    /// The answer to the WebSocket upgrade.
    case upgrade
    /// WebSocket frames.
    case frames
    /// The responses to HTTP requests.
    case httpresponse
    /// Frames of the HTTP transports.
    case httpframes
    /// Messages of the protocol.
    case envelope
    /// JSON that the client itself reads.
    case json
    /// JSON that the client decodes as the app's types.
    case decoding
    /// The members of a presence channel.
    case presence
    /// Events of encrypted channels, keys and base64.
    case encryption
    /// The answers of authorization endpoints.
    case authorization
    /// Redirects of authorization endpoints, and retry delays.
    case redirect
    /// Pieces of event streams, for the parser.
    case eventstream
    /// The messages of SignalR servers.
    case signalr
    /// A whole client. The input controls the client's server.
    case client

    /// Runs the target's checks on an input. Ends the process if a check fails.
    func run(_ input: [UInt8]) {
        switch self {
        case .utf8: UTF8Target.run(input)
        case .upgrade: UpgradeTarget.run(input)
        case .frames: FrameTarget.run(input)
        case .httpresponse: HTTPResponseTarget.run(input)
        case .httpframes: HTTPFrameTarget.run(input)
        case .envelope: EnvelopeTarget.run(input)
        case .json: JSONTarget.run(input)
        case .decoding: DecodingTarget.run(input)
        case .presence: PresenceTarget.run(input)
        case .encryption: EncryptionTarget.run(input)
        case .authorization: AuthorizationTarget.run(input)
        case .redirect: RedirectTarget.run(input)
        case .eventstream: EventStreamTarget.run(input)
        case .signalr: SignalRTarget.run(input)
        case .client: ClientTarget.run(input)
        }
    }
}

/// Ends the process if a condition is false.
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fatalError("FINDING: \(message())") }
}

/// Splits an input into its parts.
struct InputReader {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { rest = input[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Returns the next byte, or zero at the end.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func remaining() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    /// Returns the bytes before the next line feed, or nil at the end.
    mutating func line() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        rest = rest.dropFirst(line.count + 1)
        return Array(line)
    }
}

extension [UInt8] {
    /// The bytes with 1,000 bytes in place of each `{pad}`. With `{pad}`, short inputs can reach limits.
    var padded: [UInt8] { replacing("{pad}".utf8, with: Self(repeating: UInt8(ascii: "x"), count: 1_000)) }

    /// The bytes as text. Bytes that are not UTF-8 become U+FFFD.
    var text: String { String(decoding: self, as: UTF8.self) }

    /// Splits the bytes into pieces of 1 to 32 bytes. The bytes of a seed determine the lengths of the pieces, and are
    /// repeated. Without a seed, there is one piece.
    func pieces(_ seed: [UInt8]) -> [[UInt8]] {
        guard !seed.isEmpty else { return [self] }
        var pieces: [[UInt8]] = []
        var index = 0
        while index < count {
            let length = Int(seed[pieces.count % seed.count] % 32) + 1
            pieces.append(Array(self[index..<Swift.min(index + length, count)]))
            index += length
        }
        return pieces
    }
}
