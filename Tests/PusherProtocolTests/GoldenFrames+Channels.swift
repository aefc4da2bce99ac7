import PusherProtocol

extension GoldenFrame {
    static let presence = [
        GoldenFrame(
            "presence subscription_succeeded",
            #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-x","data":"{\"presence\":{\"count\":2,\"ids\":[\"a\",\"b\"],\"hash\":{\"a\":{\"name\":\"A\"},\"b\":null}}}"}"#,
            event: EventName.subscriptionSucceededInternal,
            channel: "presence-x",
            data: .string(#"{"presence":{"count":2,"ids":["a","b"],"hash":{"a":{"name":"A"},"b":null}}}"#)
        ),
        GoldenFrame(
            "presence subscription_succeeded with a list as the hash (Reverb)",
            #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-x","data":"{\"presence\":{\"count\":0,\"ids\":[],\"hash\":[]}}"}"#,
            event: EventName.subscriptionSucceededInternal,
            channel: "presence-x",
            data: .string(#"{"presence":{"count":0,"ids":[],"hash":[]}}"#)
        ),
        GoldenFrame(
            "member_added",
            #"{"event":"pusher_internal:member_added","channel":"presence-x","data":"{\"user_id\":\"b\",\"user_info\":{\"name\":\"B\"}}"}"#,
            event: "pusher_internal:member_added",
            channel: "presence-x",
            data: .string(#"{"user_id":"b","user_info":{"name":"B"}}"#)
        ),
        GoldenFrame(
            "member_added with object data (slanger)",
            #"{"event":"pusher_internal:member_added","channel":"presence-x","data":{"user_id":1}}"#,
            event: "pusher_internal:member_added",
            channel: "presence-x",
            data: .json(#"{"user_id":1}"#)
        ),
        GoldenFrame(
            "member_removed",
            #"{"event":"pusher_internal:member_removed","channel":"presence-x","data":"{\"user_id\":\"b\"}"}"#,
            event: "pusher_internal:member_removed",
            channel: "presence-x",
            data: .string(#"{"user_id":"b"}"#)
        ),
    ]

    static let events = [
        GoldenFrame(
            "event",
            #"{"event":"my-event","channel":"my-channel","data":"{\"message\":\"hello\"}"}"#,
            event: "my-event",
            channel: "my-channel",
            data: .string(#"{"message":"hello"}"#)
        ),
        GoldenFrame(
            "event with escaped angle brackets (ipe)",
            #"{"event":"e","channel":"a","data":"\u003cb\u003e"}"#,
            event: "e",
            channel: "a",
            data: .string("<b>")
        ),
        GoldenFrame(
            "event with escaped slashes (Reverb), and with backslashes in its name (Laravel)",
            #"{"event":"App\\Events\\Paid","data":"{\"url\":\"https:\\\/\\\/a.example\\\/\"}","channel":"a"}"#,
            event: #"App\Events\Paid"#,
            channel: "a",
            data: .string(#"{"url":"https:\/\/a.example\/"}"#)
        ),
        GoldenFrame(
            "client event with object data",
            #"{"event":"client-x","channel":"presence-x","data":{"a":[1,2]},"user_id":"u9"}"#,
            event: "client-x",
            channel: "presence-x",
            data: .json(#"{"a":[1,2]}"#),
            userID: "u9"
        ),
        GoldenFrame(
            "client event with string data, from a user whose id is a number",
            #"{"event":"client-x","channel":"presence-x","data":"s","user_id":10}"#,
            event: "client-x",
            channel: "presence-x",
            data: .string("s"),
            userID: "10"
        ),
        GoldenFrame(
            "encrypted event",
            #"{"event":"my-event","channel":"private-encrypted-x","data":"{\"nonce\":\"bm9uY2U=\",\"ciphertext\":\"Y2lwaGVy\"}"}"#,
            event: "my-event",
            channel: "private-encrypted-x",
            data: .string(#"{"nonce":"bm9uY2U=","ciphertext":"Y2lwaGVy"}"#)
        ),
        GoldenFrame(
            "server-to-user event",
            ##"{"event":"my-event","channel":"#server-to-user-u1","data":"1"}"##,
            event: "my-event",
            channel: "#server-to-user-u1",
            data: .string("1")
        ),
        GoldenFrame(
            "event with an additional key",
            #"{"event":"my-event","channel":"a","data":"1","sequence":7}"#,
            event: "my-event",
            channel: "a",
            data: .string("1"),
            hasUnknownKeys: true
        ),
    ]

    static let refusals = [
        GoldenFrame(
            "subscription_error (soketi, pylon)",
            #"{"event":"pusher:subscription_error","channel":"private-x","data":{"type":"AuthError","error":"no","status":401}}"#,
            event: EventName.subscriptionError,
            channel: "private-x",
            data: .json(#"{"type":"AuthError","error":"no","status":401}"#)
        ),
        GoldenFrame(
            "internal subscription_error (pusher-fake)",
            #"{"event":"pusher_internal:subscription_error","data":"{}","channel":"private-x"}"#,
            event: EventName.subscriptionErrorInternal,
            channel: "private-x",
            data: .string("{}")
        ),
    ]

    static let users = [
        GoldenFrame(
            "signin_success with string data",
            #"{"event":"pusher:signin_success","data":"{\"user_data\":\"{\\\"id\\\":\\\"u1\\\"}\"}"}"#,
            event: "pusher:signin_success",
            data: .string(#"{"user_data":"{\"id\":\"u1\"}"}"#)
        ),
        GoldenFrame(
            "signin_success with object data (soketi)",
            #"{"event":"pusher:signin_success","data":{"auth":"k:s","user_data":"{\"id\":\"u1\"}"}}"#,
            event: "pusher:signin_success",
            data: .json(#"{"auth":"k:s","user_data":"{\"id\":\"u1\"}"}"#)
        ),
        GoldenFrame(
            "watchlist_events with string data",
            #"{"event":"pusher_internal:watchlist_events","data":"{\"events\":[{\"name\":\"online\",\"user_ids\":[\"a\"]}]}"}"#,
            event: "pusher_internal:watchlist_events",
            data: .string(#"{"events":[{"name":"online","user_ids":["a"]}]}"#)
        ),
        GoldenFrame(
            "watchlist_events with object data (pylon)",
            #"{"event":"pusher_internal:watchlist_events","data":{"events":[]}}"#,
            event: "pusher_internal:watchlist_events",
            data: .json(#"{"events":[]}"#)
        ),
    ]

    /// Protocol clause 4: messages of pusher-js, for the server's side.
    static let fromClients = [
        GoldenFrame(
            "subscribe to a public channel",
            #"{"event":"pusher:subscribe","data":{"auth":"","channel":"my-channel"}}"#,
            event: EventName.subscribe,
            data: .json(#"{"auth":"","channel":"my-channel"}"#)
        ),
        GoldenFrame(
            "subscribe to a presence channel",
            #"{"event":"pusher:subscribe","data":{"auth":"k:s","channel_data":"{\"user_id\":\"u1\"}","channel":"presence-c"}}"#,
            event: EventName.subscribe,
            data: .json(#"{"auth":"k:s","channel_data":"{\"user_id\":\"u1\"}","channel":"presence-c"}"#)
        ),
        GoldenFrame(
            "unsubscribe",
            #"{"event":"pusher:unsubscribe","data":{"channel":"my-channel"}}"#,
            event: EventName.unsubscribe,
            data: .json(#"{"channel":"my-channel"}"#)
        ),
        GoldenFrame(
            "client event with string data",
            #"{"event":"client-s","data":"str","channel":"private-c"}"#,
            event: "client-s",
            channel: "private-c",
            data: .string("str")
        ),
        GoldenFrame(
            "signin",
            #"{"event":"pusher:signin","data":{"auth":"k:s","user_data":"{\"id\":\"u1\"}"}}"#,
            event: "pusher:signin",
            data: .json(#"{"auth":"k:s","user_data":"{\"id\":\"u1\"}"}"#)
        ),
    ]
}
