import Foundation
import PusherProtocol

/// Compares our decoder of frames with Foundation's JSON decoder.
///
/// The comparison allows the following differences. Foundation rejects halves of surrogate pairs and bytes that are not
/// UTF-8. Our decoder replaces them with U+FFFD. If several members have the same key, our decoder keeps the last
/// value. Foundation may keep any of the values. Our decoder does not change numbers that Foundation cannot represent.
/// Foundation gets a frame with `0` in place of these numbers. Our decoder rejects a comma before the end of an object
/// or array. Foundation accepts this comma on Linux. Foundation also accepts byte order marks and encodings other than
/// UTF-8, which are not valid in WebSocket text.
package enum EnvelopeAgreement {
    /// Numbers that become `0` in the frame for Foundation. No number in this list is the beginning of another number.
    static let hugeNumbers = [
        "1e400", "-7.5E+999", "31e-4000", String(repeating: "9", count: 400),
        "-0." + String(repeating: "0", count: 400) + "1",
        "8" + String(repeating: "1", count: 25) + ".5e308",
    ]

    /// Whether our decoder accepts a frame as a message.
    package static func isMessage(_ frame: CorpusFrame) -> Bool { (try? decode(frame.bytes)) != nil }

    /// Returns the difference between the two decoders, or nil.
    package static func disagreement(about frame: CorpusFrame) -> String? {
        if frame.kind.isAlwaysMessage, !isMessage(frame) { return "our decoder should accept the frame" }
        if let disagreement = scanDisagreement(about: frame.bytes) { return disagreement }
        let parsed = parse(frame.plain)
        // A number in a damaged frame may be too large for Foundation.
        let theirs = parsed ?? parse(withShortExponents(frame.plain))
        do {
            let ours = try decode(frame.bytes)
            guard let theirs = theirs as? [String: Any] else { return "only Foundation rejects the frame" }
            return parsed == nil ? nil : difference(between: ours, and: theirs)
        } catch EnvelopeError.notAnObject {
            return theirs == nil || theirs is [String: Any]
                ? "only our decoder reports that the frame is not an object" : nil
        } catch EnvelopeError.noEvent {
            let isRight = (theirs as? [String: Any]).map { !($0["event"] is String) } == true
            return isRight ? nil : "only our decoder reports that the frame has no event"
        } catch EnvelopeError.malformed(let offset) where endsAfterComma(frame.bytes, at: offset) {
            return nil
        } catch {
            return theirs == nil ? nil : "only our decoder rejects the frame: \(error)"
        }
    }

    /// Checks that the decoder accepts each frame that the scan of plain messages accepts, and reads equal values.
    private static func scanDisagreement(about bytes: [UInt8]) -> String? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        return withExactMemory(of: bytes) { memory in
            for isAccelerated in [true, false] {
                var text = UnescapedText(isAccelerated: isAccelerated)
                guard let message = PlainMessage(scanning: memory.span, unescapingInto: &text) else { continue }
                guard (try? Envelope(decoding: memory.span)) == message.envelope(of: memory.span, text) else {
                    return "the scan of plain messages (accelerated: \(isAccelerated)) has another result"
                }
            }
            return nil
        }
    }

    /// Compares user ids. The client keeps a number as its text.
    private static func isSameUser(_ ours: String?, _ theirs: Any?) -> Bool {
        switch theirs {
        case let theirs as String: ours == theirs
        // Foundation represents booleans as numbers too.
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
        /// The number of digits since the last `e`, or nil after any other character.
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

    /// Calls a closure with a buffer of exactly the size of the bytes. AddressSanitizer then detects a read of the
    /// first byte beyond the end.
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
            return "only one decoder finds other keys"
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

    /// Compares two JSON values. `NSDictionary` needs a second to compare deeply nested values.
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
