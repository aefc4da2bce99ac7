#if Compression
    import NIOCore
    import NIOEmbedded
    import SocketTestSupport
    import TestSupport
    import TestTraits
    import Testing

    @testable import WebSocketClient

    /// The trait `Compression` turns these tests on.
    @Suite("The compression of messages", .limited)
    struct CompressionTests {
        private static let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        private static let helloAgain: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]

        private func inflate(_ inflater: MessageInflater, _ bytes: [UInt8], limit: Int = 1_024) throws -> String {
            String(buffer: try inflater.inflate(ByteBuffer(bytes: bytes), limit: limit))
        }

        private func compress(_ deflater: MessageDeflater, _ text: String) -> [UInt8]? {
            deflater.compress(ByteBuffer(string: text)).map { Array($0.readableBytesView) }
        }

        // MARK: Messages

        @Test(
            "the client reads the messages of RFC 7692, section 7.2.3",
            arguments: [
                [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00],
                [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00],
                [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00],
                [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00],
                // Go's compressor ends a message with an empty final block.
                [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0x01],
            ] as [[UInt8]]
        )
        func vectors(message: [UInt8]) throws {
            for bits in 8...15 {
                let inflater = try #require(MessageInflater(windowBits: bits, keepsContext: true))
                #expect(try inflate(inflater, message) == "Hello")
                // The next message refers to this one, even after a final block.
                #expect(try inflate(inflater, Self.helloAgain) == "Hello")
            }
        }

        @Test("the limit may be as large as an integer")
        func unlimited() throws {
            let inflater = try #require(MessageInflater(windowBits: 15, keepsContext: true))
            #expect(try inflate(inflater, Self.hello, limit: .max) == "Hello")
        }

        @Test("without the context of earlier messages, a message cannot refer to them")
        func noContext() throws {
            let inflater = try #require(MessageInflater(windowBits: 15, keepsContext: false))
            #expect(try inflate(inflater, Self.hello) == "Hello")
            #expect(try inflate(inflater, Self.hello) == "Hello")
            #expect(throws: WebSocketViolation.invalidCompression) { try inflate(inflater, Self.helloAgain) }
        }

        @Test("the client compresses as the examples of RFC 7692 do, with and without the context")
        func compressed() throws {
            let keeping = try #require(MessageDeflater(windowBits: 15, level: 6, keepsContext: true))
            #expect(compress(keeping, "Hello") == Self.hello)
            #expect(compress(keeping, "Hello") == Self.helloAgain)
            let forgetting = try #require(MessageDeflater(windowBits: 15, level: 6, keepsContext: false))
            #expect(compress(forgetting, "Hello") == Self.hello)
            #expect(compress(forgetting, "Hello") == Self.hello)
        }

        @Test("random messages of all sizes and windows return as they were", arguments: 8...15, [true, false])
        func random(bits: Int, keepsContext: Bool) throws {
            var generator = SeededGenerator(seed: UInt64(bits))
            let inflater = try #require(MessageInflater(windowBits: bits, keepsContext: keepsContext))
            let deflater = try #require(
                MessageDeflater(windowBits: bits, level: bits - 6, keepsContext: keepsContext)
            )
            for size in [1, 2, 300, 4_091, 4_096, 65_535, 65_536, 200_000] {
                for mask in [0x0101_0101_0101_0101, .max] as [UInt64] {
                    let words = (0...size / 8).map { _ in generator.next() & mask }
                    let bytes = words.withUnsafeBytes { Array($0.prefix(size)) }
                    let message = try #require(deflater.compress(ByteBuffer(bytes: bytes)))
                    #expect(try inflater.inflate(message, limit: size) == ByteBuffer(bytes: bytes))
                }
            }
        }

        @Test("a message that grows beyond the limit is rejected before it is in memory")
        func bomb() throws {
            let deflater = try #require(MessageDeflater(windowBits: 15, level: 9, keepsContext: false))
            let message = try #require(deflater.compress(ByteBuffer(repeating: 0, count: 16 << 20)))
            #expect(message.readableBytes < 20_000)
            for limit in [0, 1, 65_536, (16 << 20) - 1] {
                let inflater = try #require(MessageInflater(windowBits: 15, keepsContext: true))
                #expect(throws: WebSocketViolation.messageTooBig(limit: limit)) {
                    try inflater.inflate(message, limit: limit)
                }
                // One byte more than the limit shows that the message is too big.
                #expect(inflater.writtenCount == limit + 1)
            }
            let inflater = try #require(MessageInflater(windowBits: 15, keepsContext: true))
            #expect(try inflater.inflate(message, limit: 16 << 20).readableBytes == 16 << 20)
        }

        @Test(
            "a message that is not compressed, or is cut off, is a violation",
            arguments: [[0xFF], [0x06], [0x05, 0x00], [0xF2, 0x48, 0xCD], Array(repeating: 0xAA, count: 100)]
                as [[UInt8]]
        )
        func invalid(message: [UInt8]) throws {
            let inflater = try #require(MessageInflater(windowBits: 15, keepsContext: true))
            #expect(throws: WebSocketViolation.invalidCompression) { try inflate(inflater, message) }
        }

        // MARK: The agreement

        @Test("the client offers what its options say")
        func offers() throws {
            #expect(try WebSocketCompression().offer() == "permessage-deflate; client_max_window_bits")
            let all = WebSocketCompression(
                serverKeepsContext: false,
                clientKeepsContext: false,
                serverWindowBits: 9,
                clientWindowBits: 8
            )
            #expect(
                try all.offer()
                    == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                    + "server_max_window_bits=9; client_max_window_bits=8"
            )
            let invalid = [
                WebSocketCompression(serverWindowBits: 7), WebSocketCompression(serverWindowBits: 16),
                WebSocketCompression(clientWindowBits: 7), WebSocketCompression(clientWindowBits: 16),
                WebSocketCompression(level: 0), WebSocketCompression(level: 10),
            ]
            for compression in invalid {
                let error = #expect(throws: WebSocketError.self) { try compression.offer() }
                #expect(error?.code == .invalidOption)
            }
        }

        @Test(
            "the client accepts each valid answer",
            arguments: [
                ([], nil), ([""], nil), (["permessage-deflate"], (true, true, 15, 15)),
                (["permessage-deflate; server_no_context_takeover"], (false, true, 15, 15)),
                (["permessage-deflate;client_no_context_takeover"], (true, false, 15, 15)),
                (["permessage-deflate ; server_max_window_bits = 8"], (true, true, 8, 15)),
                ([#"permessage-deflate; client_max_window_bits="10""#], (true, true, 15, 10)),
            ] as [([String], (Bool, Bool, Int, Int)?)]
        )
        func answers(answer: [String], expected: (Bool, Bool, Int, Int)?) throws {
            let agreement = try DeflateAgreement(answer, to: WebSocketCompression())
            #expect((agreement == nil) == (expected == nil))
            guard let agreement, let expected else { return }
            #expect(agreement.serverKeepsContext == expected.0)
            #expect(agreement.clientKeepsContext == expected.1)
            #expect(agreement.serverWindowBits == expected.2)
            #expect(agreement.clientWindowBits == expected.3)
        }

        @Test(
            "the client rejects answers that were not offered, are invalid or exceed the offer",
            arguments: [
                ["x-webkit-deflate-frame"], ["permessage-deflate, permessage-deflate"],
                ["permessage-deflate", "permessage-deflate"], ["permessage-deflate; unknown"],
                ["permessage-deflate; server_no_context_takeover=1"], ["permessage-deflate; client_max_window_bits"],
                ["permessage-deflate; server_max_window_bits"], ["permessage-deflate; server_max_window_bits=7"],
                ["permessage-deflate; server_max_window_bits=16"], ["permessage-deflate; server_max_window_bits=08"],
                ["permessage-deflate; server_max_window_bits=+9"], ["permessage-deflate; server_max_window_bits="],
                ["permessage-deflate; server_max_window_bits=9; server_max_window_bits=9"],
            ]
        )
        func wrongAnswers(answer: [String]) {
            #expect(throws: DeflateAgreement.Refusal.self) {
                _ = try DeflateAgreement(answer, to: WebSocketCompression())
            }
        }

        @Test("the client rejects an answer without the limits that it requires")
        func missingLimits() throws {
            let offer = WebSocketCompression(serverKeepsContext: false, serverWindowBits: 10)
            for (answer, isValid) in [
                ("permessage-deflate", false), ("permessage-deflate; server_no_context_takeover", false),
                ("permessage-deflate; server_max_window_bits=10", false),
                ("permessage-deflate; server_no_context_takeover; server_max_window_bits=11", false),
                ("permessage-deflate; server_no_context_takeover; server_max_window_bits=10", true),
            ] {
                let agreement = try? DeflateAgreement([answer], to: offer)
                #expect((agreement != nil) == isValid)
            }
        }

        // MARK: Connections

        private func options(threshold: Int = 10, limit: Int = 100_000) -> WebSocketOptions {
            var options = with(WebSocketOptions()) { $0.maximumMessageSize = limit }
            options.compression = WebSocketCompression(threshold: threshold)
            return options
        }

        @Test("a connection compresses messages from the threshold, and no control frames")
        func sending() throws {
            let connection = try EmbeddedConnection(options(), extensions: "permessage-deflate")
            let text = String(repeating: "ab", count: 500)
            connection.connection.send("short", promise: nil)
            connection.connection.send(text, promise: nil)
            connection.connection.sendBinary(ByteBuffer(string: text), promise: nil)
            connection.connection.sendPing(ByteBuffer(string: String(repeating: "p", count: 100)))
            connection.connection.flush()
            connection.loop.run()
            var bytes = try connection.takeBytes()
            let inflater = try #require(MessageInflater(windowBits: 15, keepsContext: true))
            for (first, expected, isCompressed) in [
                (0x81, "short", false), (0xC1, text, true), (0xC2, text, true),
                (0x89, String(repeating: "p", count: 100), false),
            ] as [(UInt8, String, Bool)] {
                #expect(bytes.getInteger(at: bytes.readerIndex) == first)
                let frame = try #require(ScriptedPeer.Frame(readingFrom: &bytes))
                let payload = ByteBuffer(bytes: frame.payload)
                let message = isCompressed ? try inflater.inflate(payload, limit: 1_000) : payload
                #expect(String(buffer: message) == expected)
                if isCompressed { #expect(frame.payload.count < 30) }
            }
            try connection.finish()
        }

        @Test("a connection reads compressed messages, whole and in fragments, and those that are not compressed")
        func receiving() throws {
            let connection = try EmbeddedConnection(options(), extensions: "permessage-deflate")
            try connection.receive(
                serverFrame(0x41, Self.hello) + serverFrame(1, "plain")
                    + serverFrame(0x42, Array(Self.helloAgain.prefix(2)), isFinal: false)
                    + serverFrame(0, Array(Self.helloAgain.dropFirst(2)))
            )
            #expect(
                connection.messages.elements == [.text("Hello"), .text("plain"), .binary(Array("Hello".utf8))]
            )
            #expect(connection.ends.count == 0)
            try connection.finish()
        }

        @Test("without the server's consent, nothing is compressed, and a compressed message is a violation")
        func declined() throws {
            let connection = try EmbeddedConnection(options())
            connection.send(1_000)
            connection.loop.run()
            #expect(try connection.takeFrames().map(\.payload.count) == [1_000])
            try connection.receive(serverFrame(0x41, Self.hello))
            #expect(connection.ends.elements.map(\.error?.code) == [.protocolViolation])
            try connection.finish()
        }

        @Test(
            "messages that are too big, invalid or not UTF-8 after decompression end the connection",
            arguments: [
                ("big", .messageTooBig, 1009), ("invalid", .protocolViolation, 1002), ("text", .invalidText, 1007),
            ] as [(String, WebSocketError.Code, Int)]
        )
        func rejected(kind: String, code: WebSocketError.Code, closeCode: Int) throws {
            let connection = try EmbeddedConnection(options(), extensions: "permessage-deflate")
            let deflater = try #require(MessageDeflater(windowBits: 15, level: 9, keepsContext: false))
            let payload: [UInt8]
            switch kind {
            case "big":
                payload = Array(
                    try #require(deflater.compress(ByteBuffer(repeating: 0, count: 100_001))).readableBytesView
                )
            case "invalid": payload = [0xFF, 0xFF]
            default: payload = Array(try #require(deflater.compress(ByteBuffer(bytes: [0xFF]))).readableBytesView)
            }
            try connection.receive(serverFrame(0x41, payload))
            #expect(connection.ends.elements.map(\.error?.code) == [code])
            let frames = try connection.takeFrames()
            #expect(frames.map(\.opcode) == [8])
            #expect(frames.first?.payload.prefix(2) == [UInt8(closeCode >> 8), UInt8(closeCode & 0xFF)])
            try connection.finish()
        }

        @Test(
            "a bomb of 16 MiB in 16 kB is inflated only up to the limit, and ends the connection",
            arguments: [1, 10]
        )
        func bombOnConnection(fragmentCount: Int) throws {
            let limit = 100_000
            let connection = try EmbeddedConnection(options(limit: limit), extensions: "permessage-deflate")
            let session = try connection.channel.pipeline.syncOperations.handler(type: WebSocketSession.self)
            let inflater = try #require(session.inflater)
            let deflater = try #require(MessageDeflater(windowBits: 15, level: 9, keepsContext: false))
            let bomb = try #require(deflater.compress(ByteBuffer(repeating: 0, count: 16 << 20)))
            #expect(bomb.readableBytes < 20_000)
            let size = bomb.readableBytes / fragmentCount + 1
            let fragments = stride(from: 0, to: bomb.readableBytes, by: size).map { start in
                Array(bomb.readableBytesView.dropFirst(start).prefix(size))
            }
            for (index, fragment) in fragments.enumerated() {
                try connection.receive(
                    serverFrame(index == 0 ? 0x42 : 0, fragment, isFinal: index == fragments.count - 1)
                )
            }
            #expect(inflater.writtenCount == limit + 1)
            #expect(connection.messages.count == 0)
            #expect(connection.ends.elements.map(\.error?.code) == [.messageTooBig])
            let frames = try connection.takeFrames()
            #expect(frames.map(\.opcode) == [8])
            #expect(frames.first?.payload.prefix(2) == [UInt8(1009 >> 8), UInt8(1009 & 0xFF)])
            try connection.finish()
        }

        @Test("an answer that the client cannot accept fails the upgrade")
        func refused() throws {
            let connection = try EmbeddedConnection(options(), extensions: "permessage-deflate; unknown")
            #expect(connection.ends.elements.map(\.error?.code) == [.upgradeFailed])
            #expect(connection.ends.elements.first?.error?.message.contains("invalid parameter") == true)
            try connection.finish()
        }
    }
#endif
