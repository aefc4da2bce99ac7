/// A part of the client that takes what others send, with what must be true of it for every input.
enum FuzzTarget: String, CaseIterable {
    /// Text in pieces, to the validator of UTF-8.
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
    /// Who is on a presence channel.
    case presence
    /// Events of encrypted channels, keys and base64.
    case encryption
    /// What authorization endpoints answer.
    case authorization
    /// Where authorization endpoints redirect to, and when they want to be asked again.
    case redirect
    /// Event streams in pieces, to their parser.
    case eventstream
    /// What SignalR servers send.
    case signalr
    /// A whole client, with a server that does what the input says.
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

/// Ends the process if something is not as it must be.
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fatalError("FINDING: \(message())") }
}

/// Takes an input apart.
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

    /// Up to the next line feed, which is left out; nil at the end.
    mutating func line() -> [UInt8]? {
        guard !rest.isEmpty else { return nil }
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        rest = rest.dropFirst(line.count + 1)
        return Array(line)
    }
}

extension [UInt8] {
    /// With 1,000 bytes for each `{pad}`: limits are reached by inputs that stay short, or they would be found by
    /// nobody.
    var padded: [UInt8] { replacing("{pad}".utf8, with: Self(repeating: UInt8(ascii: "x"), count: 1_000)) }

    /// What is not UTF-8 becomes U+FFFD.
    var text: String { String(decoding: self, as: UTF8.self) }

    /// In pieces whose lengths the bytes of a seed say, over and over; whole if there is none.
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
