/// A part of the client that reads foreign input, with the properties that hold for every input.
enum FuzzTarget: String, CaseIterable {
    /// Text in pieces, for the UTF-8 validator.
    case utf8
    /// The answer to the WebSocket upgrade.
    case upgrade
    /// WebSocket frames.
    case frames
    /// Frames of the HTTP transports.
    case httpframes
    /// Messages of the protocol.
    case envelope
    /// JSON that the client itself reads.
    case json
    /// The members of a presence channel.
    case presence
    /// Events of encrypted channels, keys and base64.
    case encryption
    /// The answers of authorization endpoints.
    case authorization
    /// Redirects of authorization endpoints, and their times for a retry.
    case redirect
    /// Event streams in pieces, for their parser.
    case eventstream
    /// The messages of SignalR servers.
    case signalr
    /// A whole client, with a server that follows the input.
    case client

    /// Ends the process if a check fails.
    func run(_ input: [UInt8]) {
        switch self {
        case .utf8: UTF8Target.run(input)
        case .upgrade: UpgradeTarget.run(input)
        case .frames: FrameTarget.run(input)
        case .httpframes: HTTPFrameTarget.run(input)
        case .envelope: EnvelopeTarget.run(input)
        case .json: JSONTarget.run(input)
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

/// Ends the process if a property does not hold.
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fatalError("FINDING: \(message())") }
}

/// Splits an input into its parts.
struct InputReader {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { rest = input[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Zero at the end.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func remaining() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    /// Up to the next line feed, without it; nil at the end.
    mutating func line() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        rest = rest.dropFirst(line.count + 1)
        return Array(line)
    }
}

extension [UInt8] {
    /// With 1,000 bytes for each `{pad}`, so that short inputs can reach limits. Otherwise no input would be found that
    /// reaches them.
    var padded: [UInt8] { replacing("{pad}".utf8, with: Self(repeating: UInt8(ascii: "x"), count: 1_000)) }

    /// Bytes that are not UTF-8 become U+FFFD.
    var text: String { String(decoding: self, as: UTF8.self) }

    /// In pieces whose lengths are the bytes of a seed, repeated; whole if there is none.
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
