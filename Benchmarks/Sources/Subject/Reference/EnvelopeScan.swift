import Foundation
import NIOCore
import NIOWebSocket
import Workload

/// The minimum work of a client: it scans the envelope in one pass, unescapes the data into a string, and calls a
/// closure.
///
/// It trusts its input, unlike a real client. All values must be strings, and only quotation marks and backslashes may
/// be escaped.
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

    /// Returns the first letter of the next key, which identifies the key. The value follows.
    mutating func nextKey() -> UInt8? {
        guard offset + 3 < bytes.count else { return nil }
        let start = offset + 2
        // The value begins after the quotation mark, the colon and another quotation mark.
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

    /// Copies eight bytes at a time, unless one byte is a quotation mark or a backslash.
    mutating func takeUnescaped() -> String {
        // The loop writes whole words, so the string needs space for one more word.
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
