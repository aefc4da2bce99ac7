import NIOCore
import RealtimePrimitives
import SocketTestSupport
import TestTraits
import Testing
import WebSocketClient

@Suite("Frames of a server", .limited)
struct WebSocketFrameReaderTests {
    typealias Output = WebSocketFrameReader.Output

    struct Violation: Sendable, CustomTestStringConvertible {
        var bytes: [UInt8]
        var expected: WebSocketViolation
        var testDescription: String { "\(bytes.prefix(16)): \(expected.message)" }

        init(_ bytes: [UInt8], _ expected: WebSocketViolation) {
            self.bytes = bytes
            self.expected = expected
        }
    }

    static let reservedBits = [0x10, 0x20, 0x40, 0x70].flatMap { (bits: UInt8) in
        [0x0, 0x1, 0x2, 0x8, 0x9, 0xA].map { Violation([0x80 | bits | $0], .reservedBits) }
    }
    static let reservedOpcodes = [0x3, 0x4, 0x5, 0x6, 0x7, 0xB, 0xC, 0xD, 0xE, 0xF].map { (opcode: UInt8) in
        Violation([0x80 | opcode], .reservedOpcode(opcode))
    }
    static let maskedFrames = [0x81, 0x82, 0x88, 0x89, 0x8A, 0x01].map { (first: UInt8) in
        Violation([first, 0x80], .masked)
    }
    static let controlFrames = [0x8, 0x9, 0xA].flatMap { (opcode: UInt8) in
        [
            Violation([opcode], .fragmentedControlFrame),
            Violation([0x80 | opcode, 126], .longControlFrame),
            Violation([0x80 | opcode, 127], .longControlFrame),
        ]
    }
    static let lengths = [
        Violation([0x82, 126, 0, 125], .invalidLength),
        Violation([0x82, 126, 0, 0], .invalidLength),
        Violation([0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .invalidLength),
        Violation([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], .invalidLength),
        Violation([0x82, 127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .invalidLength),
        Violation([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .messageTooBig(limit: 1024)),
        Violation([0x82, 126, 0x04, 0x01], .messageTooBig(limit: 1024)),
        Violation(serverFrame(1, String(repeating: "x", count: 1025)), .messageTooBig(limit: 1024)),
        Violation(
            serverFrame(2, Array(repeating: 0, count: 1000), isFinal: false) + [0x80, 25],
            .messageTooBig(limit: 1024)
        ),
    ]
    static let sequences = [
        Violation(serverFrame(0), .unexpectedContinuation),
        Violation(serverFrame(0, isFinal: false), .unexpectedContinuation),
        Violation(serverFrame(1, isFinal: false) + serverFrame(1), .unfinishedMessage),
        Violation(serverFrame(1, isFinal: false) + serverFrame(2), .unfinishedMessage),
        Violation(serverFrame(1, "begin", isFinal: false) + serverFrame(1, "other"), .unfinishedMessage),
        Violation(serverFrame(1, "a") + serverFrame(0, "b"), .unexpectedContinuation),
    ]
    static let texts = [
        Violation(serverFrame(1, [0xFF]), .invalidText),
        Violation(serverFrame(1, [0xC3]), .invalidText),
        Violation(serverFrame(1, [0x41, 0x42, 0x43, 0xFF]), .invalidText),
        Violation(serverFrame(1, [0xC3], isFinal: false) + serverFrame(0, [0x41]), .invalidText),
        Violation(serverFrame(1, [0xF0, 0x9F], isFinal: false) + serverFrame(0), .invalidText),
        // The client rejects the frame although its end is missing.
        Violation([0x81, 100, 0x41, 0xFF], .invalidText),
    ]
    static let closes: [Violation] = closePayloads + closeCodes
    private static let closePayloads = [
        Violation(serverFrame(8, [3]), .shortClosePayload),
        Violation(serverFrame(8, [0x03, 0xE8, 0xFF]), .invalidCloseReason),
        Violation(serverFrame(8, [0x03, 0xE8, 0xE2, 0x82]), .invalidCloseReason),
    ]
    private static let invalidCodes: [Int] = [0, 999, 1004, 1005, 1006, 1015, 1016, 2000, 2999, 5000, 65_535]
    private static let closeCodes = invalidCodes.map { (code: Int) -> Violation in
        let payload = withUnsafeBytes(of: UInt16(code).bigEndian) { Array($0) }
        return Violation(serverFrame(8, payload), .invalidCloseCode(code))
    }

    @Test(
        "the reader rejects invalid frames, whole or byte by byte",
        arguments: [reservedBits, reservedOpcodes, maskedFrames, controlFrames, lengths, sequences, texts, closes]
            .joined()
    )
    func violation(violation: Violation) {
        for size in [violation.bytes.count, 1] {
            #expect(throws: violation.expected) { try Self.read(violation.bytes, cutEvery: size) }
        }
    }

    @Test(
        "accepts close codes of the RFC and of apps",
        arguments: [1000, 1003, 1007, 1014, 3000, 4999]
    )
    func closeCode(code: Int) throws {
        let bytes = serverFrame(8, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array("bye".utf8))
        #expect(try Self.read(bytes) == [.close(WebSocketCloseCode(rawValue: code), "bye")])
    }

    @Test("accepts an empty close frame")
    func emptyClose() throws {
        #expect(try Self.read(serverFrame(8)) == [.close(.noStatusReceived, "")])
    }

    static let conversation: [UInt8] =
        serverFrame(1, "first") + serverFrame(1, "") + serverFrame(2, [0, 0xFF]) + serverFrame(9, "ping")
        + serverFrame(1, "κόσ", isFinal: false) + serverFrame(9, "between") + serverFrame(0, isFinal: false)
        + serverFrame(0, "με 🎺") + serverFrame(10, "pong") + serverFrame(1, String(repeating: "é", count: 40_000))
        + serverFrame(2, Array(repeating: 7, count: 300)) + serverFrame(8, [0x0F, 0xA0])

    static let conversationOutputs: [Output] = [
        .text(ByteBuffer(string: "first")), .text(ByteBuffer()), .binary(ByteBuffer(bytes: [0, 0xFF])),
        .ping(ByteBuffer(string: "ping")), .fragment, .ping(ByteBuffer(string: "between")), .fragment,
        .text(ByteBuffer(string: "κόσμε 🎺")), .pong(ByteBuffer(string: "pong")),
        .text(ByteBuffer(string: String(repeating: "é", count: 40_000))),
        .binary(ByteBuffer(repeating: 7, count: 300)), .close(4000, ""),
    ]

    @Test("returns the same messages from pieces of any size", arguments: [1, 2, 3, 7, 13, 64, 1000, 4096, 1_000_000])
    func cuts(size: Int) throws {
        #expect(try Self.read(Self.conversation, cutEvery: size, limit: 1 << 20) == Self.conversationOutputs)
    }

    @Test("accepts a text message that is fragmented at any byte")
    func textCutAnywhere() throws {
        let bytes = Array("aκ你🎺z".utf8)
        for cut in 0...bytes.count {
            let frames = serverFrame(1, Array(bytes[..<cut]), isFinal: false) + serverFrame(0, Array(bytes[cut...]))
            #expect(try Self.read(frames, cutEvery: 1) == [.fragment, .text(ByteBuffer(bytes: bytes))])
        }
    }

    @Test("accepts a message with many fragments, up to the limit", .limited)
    func manyFragments() throws {
        var bytes = serverFrame(1, "x", isFinal: false)
        for _ in 0..<70_000 { bytes += [0x00, 0x01, 0x78] }
        bytes += serverFrame(0, "x")
        let outputs = try Self.read(bytes, cutEvery: 4096, limit: 70_002)
        #expect(outputs.count == 70_002)
        #expect(outputs.last == .text(ByteBuffer(string: String(repeating: "x", count: 70_002))))
    }

    @Test("returns a text message in one frame as a slice of the read bytes")
    func noCopy() throws {
        var reader = WebSocketFrameReader(maximumMessageSize: 1024)
        let bytes = ByteBuffer(bytes: serverFrame(1, "hello"))
        reader.append(bytes)
        guard case .text(let text)? = try reader.next() else { return #expect(Bool(false)) }
        let original = bytes.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        #expect(text.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) } == original + 2)
    }

    @Test("the reader releases a buffer only after it has read all bytes of the buffer", arguments: [0, 1, 3])
    func memory(left: Int) throws {
        var reader = WebSocketFrameReader(maximumMessageSize: 1024)
        var bytes = ByteBuffer(bytes: [0x81, 2, 0x68, 0x69] + [0x81, 126, 0].prefix(left))
        reader.append(bytes)
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count == 1)
        #expect((bytes.modifyIfUniquelyOwned { _ in } != nil) == (left == 0))
        withExtendedLifetime(reader) {}
    }

    @Test("reads text messages in place until the receiver stops, and leaves the rest")
    func textsInPlace() throws {
        var reader = WebSocketFrameReader(maximumMessageSize: 1024)
        reader.append(
            ByteBuffer(bytes: serverFrame(1, "a") + serverFrame(1, "b") + serverFrame(1, "c") + serverFrame(9, "ping"))
        )
        var texts: [String] = []
        func receive(_ text: Span<UInt8>) -> Bool {
            texts.append(String(utf8: text))
            return texts.count != 2
        }
        reader.readTexts(receive)
        #expect(texts == ["a", "b"])
        reader.readTexts(receive)
        reader.readTexts(receive)
        #expect(texts == ["a", "b", "c"])
        #expect(try reader.next() == .ping(ByteBuffer(string: "ping")))
    }

    /// Reads everything with ``WebSocketFrameReader/next()``, and then again with
    /// ``WebSocketFrameReader/readTexts(_:)`` too. Expects the same result.
    static func read(_ bytes: [UInt8], cutEvery size: Int = .max, limit: Int = 1024) throws -> [Output] {
        let careful = Result { try read(bytes, cutEvery: size, limit: limit, textsInPlace: false) }
        let fast = Result { try read(bytes, cutEvery: size, limit: limit, textsInPlace: true) }
        switch (careful, fast) {
        case (.success(let careful), .success(let fast)): #expect(careful == fast)
        case (.failure(let careful), .failure(let fast)):
            #expect(careful as? WebSocketViolation == fast as? WebSocketViolation)
        default: Issue.record("\(careful) is not \(fast)")
        }
        return try careful.get()
    }

    private static func read(
        _ bytes: [UInt8],
        cutEvery size: Int,
        limit: Int,
        textsInPlace: Bool
    ) throws -> [Output] {
        var reader = WebSocketFrameReader(maximumMessageSize: limit)
        var outputs: [Output] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            reader.append(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            repeat {
                if textsInPlace {
                    reader.readTexts { text in
                        outputs.append(.text(ByteBuffer(string: String(utf8: text))))
                        return true
                    }
                }
                guard let output = try reader.next() else { break }
                outputs.append(output)
            } while true
        }
        return outputs
    }

    // MARK: Compressed messages (RFC 7692, section 6)

    /// Returns the outputs of a reader that allows compression, or the violation.
    private func read(_ bytes: [UInt8], limit: Int = 1_024) -> Result<[Output], WebSocketViolation> {
        var reader = WebSocketFrameReader(maximumMessageSize: limit, allowsCompression: true)
        reader.append(ByteBuffer(bytes: bytes))
        var outputs: [Output] = []
        do throws(WebSocketViolation) {
            while let output = try reader.next() { outputs.append(output) }
            return .success(outputs)
        } catch {
            return .failure(error)
        }
    }

    @Test("with compression, the first frame of a message tells whether the message is compressed")
    func compressed() {
        let bytes =
            serverFrame(0x41, [0xFF]) + serverFrame(0x42, [0xFE]) + serverFrame(1, "a")
            + serverFrame(0x41, [0xFF], isFinal: false) + serverFrame(9) + serverFrame(0, [0xFD])
        let expected: [Output] = [
            .compressed(ByteBuffer(bytes: [0xFF]), isText: true), .compressed(ByteBuffer(bytes: [0xFE]), isText: false),
            .text(ByteBuffer(string: "a")), .fragment, .ping(ByteBuffer()),
            .compressed(ByteBuffer(bytes: [0xFF, 0xFD]), isText: true),
        ]
        #expect(read(bytes) == .success(expected))
    }

    @Test(
        "with compression too, the other reserved bits, and marks on control frames and continuations, are violations",
        arguments: [[0x91], [0xA2], [0xC8], [0xC9], [0xCA], [0x41, 0, 0xC0], [0xF1]] as [[UInt8]]
    )
    func wrongMarks(bytes: [UInt8]) {
        #expect(read(bytes) == .failure(.reservedBits))
    }
}
