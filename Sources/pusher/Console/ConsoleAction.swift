import PusherTestServer

/// An action that the page requests.
enum ConsoleAction: Hashable, Sendable {
    case publish(event: String, data: String, channel: String)
    case drop(PusherTestServer.Target)
    case close(PusherTestServer.Target, code: Int, reason: String)
    case silence(PusherTestServer.Target)
    case speak(PusherTestServer.Target)
    /// The delay of messages, in milliseconds.
    case delay(Int)
    case rotateKey
}

/// The form in JSON, for example `{"action": "drop", "socket": "1.2"}`. Without `socket` and `channel`, an action
/// applies to all connections.
extension ConsoleAction: Decodable {
    private enum CodingKeys: CodingKey {
        case action, event, data, socket, channel, code, reason, milliseconds
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func target() throws -> PusherTestServer.Target {
            if let socket = try values.decodeIfPresent(String.self, forKey: .socket) { return .socket(socket) }
            if let channel = try values.decodeIfPresent(String.self, forKey: .channel) {
                return .subscribers(of: channel)
            }
            return .all
        }
        func number(_ key: CodingKeys, in range: ClosedRange<Int>) throws -> Int {
            let number = try values.decode(Int.self, forKey: key)
            guard range.contains(number) else {
                throw DecodingError.dataCorruptedError(
                    forKey: key,
                    in: values,
                    debugDescription: "\(key.stringValue) is a number from \(range.lowerBound) to \(range.upperBound)"
                )
            }
            return number
        }
        let action = try values.decode(String.self, forKey: .action)
        switch action {
        case "publish":
            self = .publish(
                event: try values.decode(String.self, forKey: .event),
                data: try values.decode(String.self, forKey: .data),
                channel: try values.decode(String.self, forKey: .channel)
            )
        case "drop": self = .drop(try target())
        case "close":
            self = .close(
                try target(),
                code: try number(.code, in: 0...65_535),
                // The reason in a close frame has at most 123 bytes.
                reason: String(
                    decoding: try values.decode(String.self, forKey: .reason).utf8.prefix(123),
                    as: UTF8.self
                )
            )
        case "silence": self = .silence(try target())
        case "speak": self = .speak(try target())
        case "delay": self = .delay(try number(.milliseconds, in: 0...60_000))
        case "rotateKey": self = .rotateKey
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .action,
                in: values,
                debugDescription: "there is no action \"\(action)\""
            )
        }
    }
}
