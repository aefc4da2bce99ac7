import Foundation
import PusherEncryption
import RealtimePrimitives

/// A server's answer to a `Sec-WebSocket-Key` (RFC 6455, section 4.2.2).
enum WebSocketAccept {
    static func value(for key: String) -> String {
        Data(SHA1.digest(of: Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))).base64EncodedString()
    }
}
