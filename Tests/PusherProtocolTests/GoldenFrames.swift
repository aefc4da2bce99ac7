import PusherProtocol
import Testing

/// A frame of a server or a client, and its decoded form.
struct GoldenFrame: Sendable, CustomTestStringConvertible {
    var origin: String
    var text: String
    var envelope: Envelope

    var testDescription: String { origin }

    /// Creates a frame. Use `.string` for `data` if the server encodes the data twice, and `.json` if it encodes the
    /// data once.
    init(
        _ origin: String,
        _ text: String,
        event: String,
        channel: String? = nil,
        data: Envelope.Payload = .none,
        userID: String? = nil,
        hasUnknownKeys: Bool = false
    ) {
        self.origin = origin
        self.text = text
        envelope = Envelope(
            event: event,
            channel: channel,
            data: data,
            userID: userID,
            unknownKeysText: hasUnknownKeys ? text : nil
        )
    }
}

extension GoldenFrame {
    static let all = connection + errors + channels + presence + events + refusals + users + fromClients

    /// Protocol clause 3: the greeting, pings and pongs in the forms of different servers.
    static let connection = [
        GoldenFrame(
            "connection_established",
            #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"123.456\",\"activity_timeout\":120}"}"#,
            event: EventName.connectionEstablished,
            data: .string(#"{"socket_id":"123.456","activity_timeout":120}"#)
        ),
        GoldenFrame(
            "connection_established with the data first and a newline at the end (ipe)",
            #"{"data":"{\"activity_timeout\":120,\"socket_id\":\"1.2\"}","event":"pusher:connection_established"}"#
                + "\n",
            event: EventName.connectionEstablished,
            data: .string(#"{"activity_timeout":120,"socket_id":"1.2"}"#)
        ),
        GoldenFrame(
            "ping with string data",
            #"{"event":"pusher:ping","data":"{}"}"#,
            event: EventName.ping,
            data: .string("{}")
        ),
        GoldenFrame("ping, object", #"{"event":"pusher:ping","data":{}}"#, event: EventName.ping, data: .json("{}")),
        GoldenFrame("ping without data (Reverb)", #"{"event":"pusher:ping"}"#, event: EventName.ping),
        GoldenFrame(
            "pong with string data",
            #"{"event":"pusher:pong","data":"{}"}"#,
            event: EventName.pong,
            data: .string("{}")
        ),
        GoldenFrame(
            "pong with object data (soketi)",
            #"{"event":"pusher:pong","data":{}}"#,
            event: EventName.pong,
            data: .json("{}")
        ),
        GoldenFrame("pong without data (Reverb)", #"{"event":"pusher:pong"}"#, event: EventName.pong),
    ]

    static let errors = [
        GoldenFrame(
            "error with object data",
            #"{"event":"pusher:error","data":{"code":4301,"message":"slow down"}}"#,
            event: EventName.error,
            data: .json(#"{"code":4301,"message":"slow down"}"#)
        ),
        GoldenFrame(
            "error with string data (Reverb)",
            #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"Connection is unauthorized\"}"}"#,
            event: EventName.error,
            data: .string(#"{"code":4009,"message":"Connection is unauthorized"}"#)
        ),
        GoldenFrame(
            "error with the code null (ipe, poxa)",
            #"{"event":"pusher:error","data":{"code":null,"message":"Existing subscription to channel a"}}"#,
            event: EventName.error,
            data: .json(#"{"code":null,"message":"Existing subscription to channel a"}"#)
        ),
        GoldenFrame(
            "error without a code (slanger)",
            #"{"event":"pusher:error","data":"{\"message\":\"Invalid signature\"}"}"#,
            event: EventName.error,
            data: .string(#"{"message":"Invalid signature"}"#)
        ),
        GoldenFrame(
            "error with a channel (pylon)",
            #"{"event":"pusher:error","data":{"code":4301,"message":"rate"},"channel":"private-a"}"#,
            event: EventName.error,
            channel: "private-a",
            data: .json(#"{"code":4301,"message":"rate"}"#)
        ),
    ]

    static let channels = [
        GoldenFrame(
            "subscription_succeeded",
            #"{"event":"pusher_internal:subscription_succeeded","channel":"my-channel","data":"{}"}"#,
            event: EventName.subscriptionSucceededInternal,
            channel: "my-channel",
            data: .string("{}")
        ),
        GoldenFrame(
            "subscription_succeeded without data (soketi)",
            #"{"event":"pusher_internal:subscription_succeeded","channel":"my-channel"}"#,
            event: EventName.subscriptionSucceededInternal,
            channel: "my-channel"
        ),
        GoldenFrame(
            "subscription_succeeded with an empty string as data (pylon)",
            #"{"event":"pusher_internal:subscription_succeeded","channel":"my-channel","data":""}"#,
            event: EventName.subscriptionSucceededInternal,
            channel: "my-channel",
            data: .string("")
        ),
        GoldenFrame(
            "subscription_succeeded with object data (poxa)",
            #"{"event":"pusher_internal:subscription_succeeded","data":{},"channel":"my-channel"}"#,
            event: EventName.subscriptionSucceededInternal,
            channel: "my-channel",
            data: .json("{}")
        ),
        GoldenFrame(
            "subscription_count",
            #"{"event":"pusher_internal:subscription_count","channel":"a","data":"{\"subscription_count\":3}"}"#,
            event: EventName.subscriptionCountInternal,
            channel: "a",
            data: .string(#"{"subscription_count":3}"#)
        ),
        GoldenFrame(
            "cache_miss without data (Reverb, soketi)",
            #"{"event":"pusher:cache_miss","channel":"cache-x"}"#,
            event: EventName.cacheMiss,
            channel: "cache-x"
        ),
        GoldenFrame(
            "cache_miss with the string \"null\" (pusher-fake)",
            #"{"event":"pusher:cache_miss","channel":"cache-x","data":"null"}"#,
            event: EventName.cacheMiss,
            channel: "cache-x",
            data: .string("null")
        ),
    ]
}
