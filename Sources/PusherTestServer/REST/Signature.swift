import Foundation
import PusherEncryption
import RealtimePrimitives

/// Digests that the server makes of what it sends and receives.
enum Signature {
    /// In lower-case hexadecimal digits.
    static func md5(_ bytes: [UInt8]) -> String { Hexadecimal.digits(of: MD5.digest(of: bytes)) }

    /// The value of `Sec-WebSocket-Accept` that answers a key (RFC 6455, 4.2.2).
    static func webSocketAccept(key: String) -> String {
        let bytes = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        return Data(SHA1.digest(of: bytes)).base64EncodedString()
    }
}

/// The wall clock.
enum SystemTime {
    static var unixSeconds: Int { Int(Date().timeIntervalSince1970) }
}
