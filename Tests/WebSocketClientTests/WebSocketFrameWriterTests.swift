import NIOCore
import TestTraits
import Testing
import WebSocketClient

@Suite("Frames of the client", .limited)
struct WebSocketFrameWriterTests {
    @Test(
        "masks a text message, and writes its length in the shortest form",
        arguments: [0, 1, 7, 125, 126, 65_535, 65_536, 70_003]
    )
    func text(length: Int) throws {
        let text = String(repeating: "abc", count: length / 3 + 1).prefix(length)
        var writer = WebSocketFrameWriter()
        let frame = writer.frame(String(text), allocator: ByteBufferAllocator())
        let (opcode, payload) = try #require(Self.unmask(frame))
        #expect(opcode == 0x81)
        #expect(payload.elementsEqual(text.utf8))
    }

    @Test("uses a different key for each frame")
    func keys() {
        let payload = ByteBuffer(repeating: 0, count: 4)
        var writer = WebSocketFrameWriter()
        let frames = (0..<8).map { _ in writer.frame(.binary, payload, allocator: ByteBufferAllocator()) }
        #expect(Set(frames).count == 8)
    }

    @Test("writes a close frame with code and reason, in at most 125 bytes")
    func close() throws {
        var writer = WebSocketFrameWriter()
        let short = writer.closeFrame(4000, reason: "why", allocator: ByteBufferAllocator())
        #expect(try #require(Self.unmask(short)).payload == [0x0F, 0xA0] + Array("why".utf8))
        let reason = String(repeating: "🎺", count: 50)
        let long = writer.closeFrame(4000, reason: reason, allocator: ByteBufferAllocator())
        #expect(try #require(Self.unmask(long)).payload == [0x0F, 0xA0] + Array(reason.utf8.prefix(120)))
    }

    @Test(
        "writes an empty close frame if the code is 1005 or does not fit into 16 bits",
        arguments: [1005, -1, 65_536]
    )
    func closeWithoutCode(code: Int) throws {
        var writer = WebSocketFrameWriter()
        let frame = writer.closeFrame(
            WebSocketCloseCode(rawValue: code),
            reason: "why",
            allocator: ByteBufferAllocator()
        )
        #expect(try #require(Self.unmask(frame)).payload == [])
    }

    private static func unmask(_ frame: ByteBuffer) -> (opcode: UInt8, payload: [UInt8])? {
        var frame = frame
        guard let opcode = frame.readInteger(as: UInt8.self), let second = frame.readInteger(as: UInt8.self),
            second & 0x80 != 0
        else { return nil }
        var length = Int(second & 0x7F)
        if length == 126 { length = frame.readInteger(as: UInt16.self).map(Int.init) ?? 0 }
        if length == 127 { length = frame.readInteger(as: UInt64.self).map(Int.init) ?? 0 }
        guard let key = frame.readBytes(length: 4), let payload = frame.readBytes(length: length),
            frame.readableBytes == 0
        else { return nil }
        return (opcode, payload.enumerated().map { $1 ^ key[$0 % 4] })
    }
}
