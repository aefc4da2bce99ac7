import Foundation
import PusherProtocol

/// Foundation's JSON is the second opinion about frames.
///
/// There are intended differences. Halves of surrogate pairs and bytes that are not UTF-8, which Foundation rejects,
/// become U+FFFD. Of equal keys the last one counts, and Foundation may keep any. Numbers that Foundation cannot
/// represent are passed on unchanged. For these, Foundation gets a frame without them. A comma before the end of an
/// object or array, which Foundation accepts on Linux, is rejected. Foundation accepts encodings other than UTF-8 and
/// byte order marks, which are not valid in WebSocket text.
package enum EnvelopeAgreement {
    /// For Foundation, each of them becomes `0`. None of them is the beginning of another.
    static let hugeNumbers = [
        "1e400", "-7.5E+999", "31e-4000", String(repeating: "9", count: 400),
        "-0." + String(repeating: "0", count: 400) + "1",
        "8" + String(repeating: "1", count: 25) + ".5e308",
    ]

    /// Whether our decoder accepts a frame as a message.
    package static func isMessage(_ frame: CorpusFrame) -> Bool { (try? decode(frame.bytes)) != nil }

    /// The difference between the two decoders, or nil.
    package static func disagreement(about frame: CorpusFrame) -> String? {
        if frame.kind.isAlwaysMessage, !isMessage(frame) { return "it should be a message" }
        if let disagreement = scanDisagreement(about: frame.bytes) { return disagreement }
        let parsed = parse(frame.plain)
        // Damage can make a number too large for it.
        let theirs = parsed ?? parse(withShortExponents(frame.plain))
        do {
            let ours = try decode(frame.bytes)
            guard let theirs = theirs as? [String: Any] else { return "only Foundation refuses it" }
            return parsed == nil ? nil : difference(between: ours, and: theirs)
        } catch EnvelopeError.notAnObject {
            return theirs == nil || theirs is [String: Any] ? "we say that it is no object" : nil
        } catch EnvelopeError.noEvent {
            let isRight = (theirs as? [String: Any]).map { !($0["event"] is String) } == true
            return isRight ? nil : "we say that it has no event"
        } catch EnvelopeError.malformed(let offset) where endsAfterComma(frame.bytes, at: offset) {
            return nil
        } catch {
            return theirs == nil ? nil : "only we refuse it: \(error)"
        }
    }

    /// Whatever the scan of plain messages accepts, the decoder accepts with equal values.
    private static func scanDisagreement(about bytes: [UInt8]) -> String? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        return withExactMemory(of: bytes) { memory in
            for isAccelerated in [true, false] {
                var text = UnescapedText(isAccelerated: isAccelerated)
                guard let message = PlainMessage(scanning: memory.span, unescapingInto: &text) else { continue }
                guard (try? Envelope(decoding: memory.span)) == message.envelope(of: memory.span, text) else {
                    return "the scan of plain messages (\(isAccelerated)) finds something else"
                }
            }
            return nil
        }
    }

    /// A number is kept as its text.
    private static func isSameUser(_ ours: String?, _ theirs: Any?) -> Bool {
        switch theirs {
        case let theirs as String: ours == theirs
        // For Foundation, booleans are numbers too.
        case let theirs as NSNumber: ours.map { isEqual(parseWithoutHugeNumbers($0), theirs) } ?? (theirs is Bool)
        default: ours == nil
        }
    }

    private static func parseWithoutHugeNumbers(_ text: String) -> Any? {
        let plain = hugeNumbers.reduce(text) { $0.replacingOccurrences(of: $1, with: "0") }
        return parse(Array(plain.utf8))
    }

    private static func parse(_ bytes: [UInt8]) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    }

    private static func endsAfterComma(_ bytes: [UInt8], at offset: Int) -> Bool {
        guard bytes.indices.contains(offset), "}]".utf8.contains(bytes[offset]) else { return false }
        return bytes[..<offset].last { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: ",")
    }

    private static func withShortExponents(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        /// The number of digits since the last `e`; nil after any other character.
        var digits: Int?
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "e"), UInt8(ascii: "E"): digits = 0
            case UInt8(ascii: "+"), UInt8(ascii: "-"): break
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits? += 1
                if let digits, digits > 2 { continue }
            default: digits = nil
            }
            result.append(byte)
        }
        return result
    }

    private static func decode(_ bytes: [UInt8]) throws(EnvelopeError) -> Envelope {
        try withExactMemory(of: bytes) { memory throws(EnvelopeError) in try Envelope(decoding: memory.span) }
    }

    /// In memory of exactly that size, so that AddressSanitizer detects a read of the first byte beyond it.
    private static func withExactMemory<Result, Failure>(
        of bytes: [UInt8],
        _ body: (UnsafeMutableBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        defer { memory.deallocate() }
        _ = memory.initialize(from: bytes)
        return try body(memory)
    }

    private static func difference(between ours: Envelope, and theirs: [String: Any]) -> String? {
        if ours.event != theirs["event"] as? String { return "the events differ" }
        if ours.channel != theirs["channel"] as? String { return "the channels differ" }
        if !isSameUser(ours.userID, theirs["user_id"]) { return "the user ids differ" }
        let known: Set = ["event", "channel", "data", "user_id"]
        if (ours.unknownKeysText != nil) != theirs.keys.contains(where: { !known.contains($0) }) {
            return "one of them has other keys"
        }
        switch ours.data {
        case .none:
            return theirs["data"] == nil || theirs["data"] is NSNull ? nil : "only Foundation sees data"
        case .string(let string):
            return string == theirs["data"] as? String ? nil : "the data differ"
        case .json(let json):
            return isEqual(parseWithoutHugeNumbers(json), theirs["data"]) ? nil : "the data differ"
        }
    }

    /// Not by way of `NSDictionary`: a deep one takes a second to compare.
    private static func isEqual(_ left: Any?, _ right: Any?) -> Bool {
        switch (left, right) {
        case (let left as [String: Any], let right as [String: Any]):
            left.count == right.count && left.allSatisfy { key, value in isEqual(value, right[key]) }
        case (let left as [Any], let right as [Any]):
            left.count == right.count && zip(left, right).allSatisfy { isEqual($0, $1) }
        case (let left as String, let right as String): left == right
        case (let left as NSNumber, let right as NSNumber): left == right
        case (is NSNull, is NSNull): true
        default: false
        }
    }
}
