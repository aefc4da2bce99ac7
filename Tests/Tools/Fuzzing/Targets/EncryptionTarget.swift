import Foundation
import PusherEncryption
import PusherProtocol

/// Checks encrypted events and base64. The client opens only events that were sealed with the key. It cannot open an
/// event after a bit has changed. The client's base64 decoder agrees with Foundation's.
///
/// Input: a byte for the kind, and the rest. The kinds are `e` for the data of an event, `b` for base64, `k` for a key
/// in base64, and `s` for a string to seal. After `s`, two bytes name the changed bit, and the string follows.
enum EncryptionTarget {
    private static let keyBytes = [UInt8](0..<32)
    private static let nonce = [UInt8](100..<124)

    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        guard let key = SecretKey(keyBytes) else { return require(false, "no key") }
        switch reader.byte() {
        case UInt8(ascii: "e"): open(reader.remaining().text, key)
        case UInt8(ascii: "b"): decode(reader.remaining())
        case UInt8(ascii: "k"): makeKey(reader.remaining().text)
        case UInt8(ascii: "s"):
            let place = Int(reader.byte()) << 8 | Int(reader.byte())
            seal(reader.remaining(), place, key)
        default: break
        }
    }

    private static func open(_ text: String, _ key: SecretKey) {
        for payload in [Envelope.Payload.string(text), .json(text)] {
            guard let message = try? EncryptedEvent.open(payload, with: key) else { continue }
            // The event was sealed with the key, so the plain implementation must give the same result.
            guard case .value(.object(let members)) = PlainJSON.parse(Array(text.utf8)) else {
                return require(false, "the client opens an invalid object: \(text)")
            }
            func bytes(_ key: String) -> [UInt8]? {
                members.last { $0.key == key }?.value.string.flatMap { Data(base64Encoded: $0) }.map { Array($0) }
            }
            let plain = bytes("ciphertext").flatMap { box in
                bytes("nonce").flatMap { SecretBox.open(box, nonce: $0, key: key) }
            }
            require(
                plain == Array(message.utf8),
                "the client opens the event to \(message), not \(String(describing: plain))"
            )
        }
    }

    private static func decode(_ text: [UInt8]) {
        let expected = Data(base64Encoded: Data(text)).map { Array($0) }
        let ours = text.withExactMemory { bytes -> [UInt8]? in
            let capacity = Base64.capacity(forCharacters: bytes.count)
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
            defer { memory.deallocate() }
            return Base64.decode(bytes.bindMemory(to: UInt8.self).span, into: memory).map { Array(memory[..<$0]) }
        }
        // Foundation also accepts too much padding, and text after the padding.
        if let ours {
            require(ours == expected, "the client decodes \(text.text) to \(ours), not \(String(describing: expected))")
        }
        if let expected, Data(expected).base64EncodedString() == text.text {
            require(ours != nil, "the client rejects \(text.text)")
        }
    }

    private static func makeKey(_ text: String) {
        let bytes = Data(base64Encoded: text).map { Array($0) }
        guard let key = SecretKey(base64: text) else {
            return require(bytes?.count != 32 || text.utf8.count > 64, "the client rejects the key \(text)")
        }
        require(bytes.flatMap { SecretKey($0) } == key, "the client decodes the key \(text) to other bytes")
        require("\(key)" == "SecretKey(…)", "a key's description shows the key")
    }

    private static func seal(_ message: [UInt8], _ place: Int, _ key: SecretKey) {
        guard var box = SecretBox.seal(message, nonce: nonce, key: key) else { return require(false, "not sealed") }
        let text = String(validating: message, as: UTF8.self)
        require((try? EncryptedEvent.open(payload(box), with: key)) == text, "the client does not open a sealed event")
        box[(place >> 3) % box.count] ^= 1 << UInt8(place & 7)
        do throws(EncryptedEvent.Failure) {
            _ = try EncryptedEvent.open(payload(box), with: key)
            require(false, "the client opens a changed event")
        } catch {
            require(error == .wrongKey, "a changed event fails with \(error), not wrongKey")
        }
    }

    private static func payload(_ box: [UInt8]) -> Envelope.Payload {
        let members = [("nonce", nonce), ("ciphertext", box)].map { name, bytes in
            #""\#(name)":"\#(Data(bytes).base64EncodedString())""#
        }
        return .json("{\(members.joined(separator: ","))}")
    }
}
