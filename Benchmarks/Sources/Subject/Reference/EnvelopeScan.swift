import Foundation
import NIOCore
import NIOWebSocket
import Workload

/// The minimum for a client: one pass over the envelope, the data unescaped into a string, and a call of a closure.
///
/// It trusts its input, as no client may: all values are strings, and only quotation marks and backslashes are escaped.
struct ScanningConsumer {
    let channel: [UInt8]
    let callback: @Sendable (String) -> Void

    func consume(_ frame: WebSocketFrame) {
        let payload = frame.data
        payload.withUnsafeReadableBytes { bytes in
            var scan = EnvelopeScan(bytes)
            var isMine = false
            while let key = scan.nextKey() {
                switch key {
                case UInt8(ascii: "c"): isMine = scan.takeString().elementsEqual(channel)
                case UInt8(ascii: "d"):
                    let data = scan.takeUnescaped()
                    if isMine { callback(data) }
                default: _ = scan.takeString()
                }
            }
        }
    }
}

private struct EnvelopeScan {
    private let bytes: UnsafeRawBufferPointer
    /// The offset of the brace or the comma before the next key.
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The key's first letter, which identifies it; then the value follows.
    mutating func nextKey() -> UInt8? {
        guard offset + 3 < bytes.count else { return nil }
        let start = offset + 2
        // After the quotation mark, the colon and another quotation mark.
        offset = end(from: start) + 3
        return bytes[start]
    }

    mutating func takeString() -> Slice<UnsafeRawBufferPointer> {
        let start = offset
        let end = end(from: start)
        offset = end + 1
        return bytes[start..<end]
    }

    /// The position of the next quotation mark.
    private func end(from start: Int) -> Int {
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") { end += 1 }
        return min(end, bytes.count - 1)
    }

    /// Eight bytes at a time, unless one of them is a quotation mark or a backslash.
    mutating func takeUnescaped() -> String {
        // Whole words are written, so one more must fit.
        String(unsafeUninitializedCapacity: bytes.count - offset + 8) { text in
            let output = UnsafeMutableRawBufferPointer(text)
            var count = 0
            while offset < bytes.count {
                guard offset + 8 <= bytes.count else {
                    let byte = bytes[offset]
                    if byte == UInt8(ascii: "\"") { break }
                    if byte == UInt8(ascii: "\\") { offset += 1 }
                    text[count] = bytes[offset]
                    count += 1
                    offset += 1
                    continue
                }
                let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                output.storeBytes(of: word, toByteOffset: count, as: UInt64.self)
                let hits = Self.zeroBytes(word ^ Self.quotationMarks) | Self.zeroBytes(word ^ Self.backslashes)
                let clean = hits.trailingZeroBitCount / 8
                offset += clean
                count += clean
                guard clean < 8 else { continue }
                if bytes[offset] == UInt8(ascii: "\"") { break }
                text[count] = bytes[offset + 1]
                count += 1
                offset += 2
            }
            offset += 1
            return count
        }
    }

    private static let quotationMarks: UInt64 = 0x2222_2222_2222_2222
    private static let backslashes: UInt64 = 0x5C5C_5C5C_5C5C_5C5C

    /// The highest bit of the first zero byte, and perhaps of later bytes.
    private static func zeroBytes(_ word: UInt64) -> UInt64 {
        (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
    }
}
