import PusherProtocol

@testable import PusherCore

/// The messages that a server sends.
extension Envelope {
    /// `pusher:connection_established`.
    static func greeting(_ number: Int, activityTimeout: String? = "120") -> Envelope {
        let timeout = activityTimeout.map { #","activity_timeout":\#($0)"# } ?? ""
        return Envelope(
            event: EventName.connectionEstablished,
            data: .string(#"{"socket_id":"\#(number).1"\#(timeout)}"#)
        )
    }

    static func error(_ code: Int?, _ message: String = "bad", channel: String? = nil) -> Envelope {
        let code = code.map { String($0) } ?? "null"
        return Envelope(
            event: EventName.error,
            channel: channel,
            data: .json(#"{"code":\#(code),"message":"\#(message)"}"#)
        )
    }

    static func success(_ channel: String) -> Envelope {
        Envelope(event: EventName.subscriptionSucceededInternal, channel: channel, data: .string("{}"))
    }

    static func refusal(_ channel: String?) -> Envelope {
        Envelope(event: EventName.subscriptionError, channel: channel, data: .json(#"{"error":"no","status":401}"#))
    }

    static func subscriptionCount(_ channel: String?, _ data: String) -> Envelope {
        Envelope(event: EventName.subscriptionCountInternal, channel: channel, data: .string(data))
    }

    static func message(_ channel: String?) -> Envelope {
        Envelope(event: "message", channel: channel, data: .string("{}"))
    }

    static func members(_ channel: String, _ ids: [String]) -> Envelope {
        let hash = JSONValue.object(WireTable(ids.map { ($0, .null) }))
        let presence: JSONValue = [
            "presence": ["count": .integer(ids.count), "ids": .array(ids.map { .string($0) }), "hash": hash]
        ]
        return Envelope(
            event: EventName.subscriptionSucceededInternal,
            channel: channel,
            data: .string(presence.jsonText)
        )
    }

    /// Returns the message for a new member, whose id is JSON text.
    static func memberAdded(_ channel: String, _ id: String, info: String = "null") -> Envelope {
        let data = #"{"user_id":\#(id),"user_info":\#(info)}"#
        return Envelope(event: EventName.memberAddedInternal, channel: channel, data: .string(data))
    }

    static func memberRemoved(_ channel: String, _ id: String) -> Envelope {
        Envelope(event: EventName.memberRemovedInternal, channel: channel, data: .string(#"{"user_id":\#(id)}"#))
    }

    static func signedIn(_ id: String) -> Envelope {
        let data: JSONValue = ["user_data": .string(#"{"id":"\#(id)"}"#)]
        return Envelope(event: EventName.signInSuccess, data: .json(data.jsonText))
    }
}
