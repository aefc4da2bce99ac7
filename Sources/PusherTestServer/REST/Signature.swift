import Crypto
import Foundation

/// The digests that the REST API's authentication is made of, in lower-case hexadecimal digits.
enum Signature {
    static func md5(_ bytes: [UInt8]) -> String { hexadecimal(Insecure.MD5.hash(data: bytes)) }

    static func hmac(_ text: String, secret: String) -> String {
        let key = SymmetricKey(data: Array(secret.utf8))
        return hexadecimal(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
    }

    /// Compares in constant time, so that the time of an answer says nothing about the right signature.
    static func isValid(_ signature: String, for text: String, secret: String) -> Bool {
        guard let code = bytes(hexadecimal: signature) else { return false }
        let key = SymmetricKey(data: Array(secret.utf8))
        return HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Array(text.utf8), using: key)
    }

    /// The value of `Sec-WebSocket-Accept` that answers a key (RFC 6455, 4.2.2).
    static func webSocketAccept(key: String) -> String {
        let bytes = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        return Data(Insecure.SHA1.hash(data: bytes)).base64EncodedString()
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    private static func bytes(hexadecimal text: String) -> [UInt8]? {
        let digits = text.utf8.map { PercentEncoding.digit($0) }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0) }
    }
}

/// The wall clock.
enum SystemTime {
    static var unixSeconds: Int { Int(Date().timeIntervalSince1970) }
}
