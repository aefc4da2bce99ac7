import Crypto
import Foundation

/// Digests that the server makes of what it sends and receives.
enum Signature {
    /// In lower-case hexadecimal digits.
    static func md5(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in Insecure.MD5.hash(data: bytes) { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// The value of `Sec-WebSocket-Accept` that answers a key (RFC 6455, 4.2.2).
    static func webSocketAccept(key: String) -> String {
        let bytes = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        return Data(Insecure.SHA1.hash(data: bytes)).base64EncodedString()
    }
}

/// The wall clock.
enum SystemTime {
    static var unixSeconds: Int { Int(Date().timeIntervalSince1970) }
}
