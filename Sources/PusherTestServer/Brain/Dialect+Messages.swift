import PusherProtocol
import RealtimeJSON

/// The server's messages as text (protocol clause 3).
extension PusherTestServer.Dialect {
    func connectionEstablished(socketID: String, activityTimeout: Int?) -> String {
        var data: [(String, JSONValue)] = [("socket_id", .string(socketID))]
        if let activityTimeout { data.append(("activity_timeout", .integer(activityTimeout))) }
        return text(Envelope(event: EventName.connectionEstablished, data: .string(Self.object(data))))
    }

    func error(code: Int?, message: String, channel: String? = nil) -> String {
        var data: [(String, JSONValue)] = []
        if let code {
            data.append(("code", .integer(code)))
        } else if missingCode == .null {
            data.append(("code", .null))
        }
        data.append(("message", .string(message)))
        let object = Self.object(data)
        switch errorEncoding {
        case .object: return text(Envelope(event: EventName.error, channel: channel, data: .json(object)))
        case .string: return text(Envelope(event: EventName.error, channel: channel, data: .string(object)))
        }
    }

    func subscriptionSucceeded(channel: String) -> String {
        text(
            Envelope(
                event: EventName.subscriptionSucceededInternal,
                channel: channel,
                data: payload(subscriptionSucceededData)
            )
        )
    }

    func subscriptionCount(channel: String, count: Int) -> String {
        let data = Self.object([("subscription_count", .integer(count))])
        return text(Envelope(event: EventName.subscriptionCountInternal, channel: channel, data: .string(data)))
    }

    func subscriptionError(channel: String, type: String?, message: String, status: Int) -> String {
        var members: [(String, JSONValue)] = [("error", .string(message)), ("status", .integer(status))]
        if let type { members.insert(("type", .string(type)), at: 0) }
        let data = Self.object(members)
        return text(Envelope(event: EventName.subscriptionError, channel: channel, data: .json(data)))
    }

    func internalSubscriptionError(channel: String) -> String {
        text(Envelope(event: EventName.subscriptionErrorInternal, channel: channel, data: .string("{}")))
    }

    var ping: String { text(Envelope(event: EventName.ping, data: payload(pingData))) }

    var pong: String { text(Envelope(event: EventName.pong, data: payload(pongData))) }

    /// Returns a message as text, with the dialect's escapes and newline.
    func text(_ envelope: Envelope) -> String {
        let text = escaped(envelope.jsonText)
        return appendsNewline ? text + "\n" : text
    }

    func payload(_ form: EmptyData) -> Envelope.Payload {
        switch form {
        case .missing: .none
        case .object: .json("{}")
        case .string: .string("{}")
        case .emptyString: .string("")
        case .nullString: .string("null")
        }
    }

    /// Escapes characters that JSON allows unescaped. These characters occur only in strings, so the meaning of the
    /// JSON stays the same.
    private func escaped(_ text: String) -> String {
        guard escaping != .none else { return text }
        var escaped = ""
        var isEscaped = false
        for scalar in text.unicodeScalars {
            switch (escaping, scalar) {
            case (.slashes, "/") where !isEscaped: escaped += "\\/"
            case (.angleBrackets, "<"): escaped += "\\u003c"
            case (.angleBrackets, ">"): escaped += "\\u003e"
            default: escaped.unicodeScalars.append(scalar)
            }
            isEscaped = scalar == "\\" && !isEscaped
        }
        return escaped
    }

    private static func object(_ members: [(String, JSONValue)]) -> String {
        JSONWriter.object(members.map { ($0.0, $0.1.jsonText) })
    }
}
