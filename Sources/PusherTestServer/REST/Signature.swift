import Foundation
import RealtimePrimitives

/// The digest in the answer to a WebSocket upgrade.
enum Signature {
    /// Returns the value of `Sec-WebSocket-Accept` for a key (RFC 6455, 4.2.2).
    static func webSocketAccept(key: String) -> String {
        let bytes = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        return Data(SHA1.digest(of: bytes)).base64EncodedString()
    }
}

/// The wall clock.
enum SystemTime {
    static var unixSeconds: Int { unixMilliseconds / 1_000 }
    static var unixMilliseconds: Int { Int(Date().timeIntervalSince1970 * 1_000) }
}
