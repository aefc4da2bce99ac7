import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Subscriptions that need an authorization", .limited)
struct AuthorizationTests {
    @Test("acceptsAnySignature accepts any signature, but not a missing signature")
    func anySignature() {
        var server = BrainTranscript.connected { $0.acceptsAnySignature = true }
        let subscribe = Envelope.subscribe(channel: "private-a", auth: "testKey123:authorizerblah123")
        #expect(server.text(1, subscribe.jsonText) == [.succeeded(1, "private-a")])
        #expect(server.signIn(1, auth: "x", #"{"id":"u"}"#).events.first == EventName.signInSuccess)
        #expect(server.subscribe(1, "private-b") == [.error(1, "Auth info required to subscribe to private-b")])
        let channelData = #"{"user_id":"u"}"#
        let join = Envelope.subscribe(channel: "presence-a", auth: "y", channelData: channelData)
        #expect(server.text(1, join.jsonText).events == [EventName.subscriptionSucceededInternal])
        #expect(server.brain.presenceMembers(of: "presence-a").map(\.userID) == ["u"])
        var strict = BrainTranscript.connected()
        #expect(strict.text(1, subscribe.jsonText).events == [EventName.error])
    }

    static let application = PusherTestServer.Application(
        id: "3",
        key: "278d425bdf160c739803",
        secret: "7ad3773142a6692b25b8"
    )

    @Test(
        "signatures match the examples in Pusher's documentation",
        arguments: [
            ("private-foobar", nil, "58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"),
            ("private-encrypted-foobar", nil, "e6a18892d037c5d5e76a2265df4f086ffc38631605530dfd214aa5bff495f533"),
            ("private-cache-foobar", nil, "395f4a03f06e17b74af8d9c58386cf386e70176f58452420f042b6e1bddefa43"),
            (
                "private-encrypted-cache-foobar", nil,
                "b9b56ee68b2117189dbac324760a1f9958070108e3ef45232e5dcbba37dbb831"
            ),
            (
                "presence-foobar", #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#,
                "31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80"
            ),
            (
                "presence-foobar", #"{"user_id":"11","user_info":{"name":"Zoë 🚀"}}"#,
                "973b1c866295670a657c2c09aef1c6d2a1830b19fd8f2c833fa195dbf028b3c0"
            ),
            (
                "presence-cache-foobar", #"{"user_id":"11"}"#,
                "204443b563da58bf9b5c758d2c167d60597de54dfb93f10cea43909e97c8cbe3"
            ),
        ] as [(String, String?, String)]
    )
    func vectors(channel: String, channelData: String?, signature: String) {
        var options = Options()
        options.application = Self.application
        var brain = ServerBrain(options: options, socketIDPrefix: 1234)
        let id = ConnectionID(rawValue: 1234)
        _ = brain.connectionRequested(id, Request(target: "/app/\(Self.application.key)"))
        let auth = "\(Self.application.key):\(signature)"
        let subscribe = Envelope.subscribe(channel: channel, auth: auth, channelData: channelData)
        let actions = brain.received(.text(subscribe.jsonText), on: id)
        #expect(actions.events.first == EventName.subscriptionSucceededInternal)
        #expect(brain.subscriptionCount(of: channel) == 1)
    }

    @Test(
        "the server accepts each kind of private channel with a valid signature",
        arguments: ["private-x", "private-encrypted-x", "private-cache-x", "private-encrypted-cache-x"]
    )
    func kinds(channel: String) {
        var server = BrainTranscript.connected()
        #expect(server.authorize(1, channel).first == .succeeded(1, channel))
        #expect(server.authorize(1, channel) == [.error(1, "Existing subscription to channel \(channel)")])
    }

    @Test("the server refuses subscriptions with Pusher's messages")
    func words() {
        var server = BrainTranscript.connected()
        func subscribe(_ auth: String?, _ channel: String = "private-x", _ data: String? = nil) -> [ServerAction] {
            server.text(1, Envelope.subscribe(channel: channel, auth: auth, channelData: data).jsonText)
        }
        for auth in [nil, ""] {
            #expect(subscribe(auth) == [.error(1, "Auth info required to subscribe to private-x")])
        }
        let expected = "Invalid signature: Expected HMAC SHA256 hex digest of 7.1:private-x, but got 00"
        #expect(subscribe("app-key:00") == [.error(1, expected)])
        #expect(subscribe("app-key:") == [.error(1, expected.replacing("00", with: ""))])
        #expect(subscribe("other:00") == [.error(1, "Invalid key in subscription auth data: 'other'")])
        #expect(subscribe("nonsense") == [.error(1, "Invalid key in subscription auth data: 'nonsense'")])
        let data = #"{\"user_id\":\"u\"}"#
        #expect(
            subscribe("app-key:00", "presence-x", #"{"user_id":"u"}"#) == [
                .error(1, "Invalid signature: Expected HMAC SHA256 hex digest of 7.1:presence-x:\(data), but got 00")
            ]
        )
        #expect(server.brain.subscriptionCount(of: "private-x") == 0)
        #expect(server.brain.subscriptionCount(of: "presence-x") == 0)
    }

    @Test("a signature is valid for one socket, one channel and one channel_data")
    func foreignSignatures() {
        var server = BrainTranscript.connected(2)
        let signed = server.brain.options.application.authorization(
            socketID: "7.1",
            channel: "private-x",
            channelData: nil,
            masterKey: nil
        )
        for (number, channel, data) in [(2, "private-x", nil), (1, "private-y", nil), (1, "private-x", "{}")] {
            let subscribe = Envelope.subscribe(channel: channel, auth: signed.auth, channelData: data)
            #expect(server.text(number, subscribe.jsonText).events == [EventName.error])
        }
        #expect(server.text(1, Envelope.subscribe(channel: "private-x", auth: signed.auth).jsonText).count == 1)
    }

    @Test("signatures cover channel_data on private channels too")
    func channelDataOnPrivate() {
        var server = BrainTranscript.connected()
        #expect(server.authorize(1, "private-x", "anything") == [.succeeded(1, "private-x")])
    }

    @Test(
        "each dialect refuses a wrong signature in its own form",
        arguments: [
            (Dialect.pusher, EventName.error), (.soketi, EventName.subscriptionError),
            (.reverb, EventName.error), (.pylon, EventName.subscriptionError), (.ipe, EventName.error),
            (.poxa, EventName.error), (.slanger, EventName.error), (.pusherFake, EventName.subscriptionErrorInternal),
        ]
    )
    func dialects(dialect: Dialect, event: String) {
        var server = BrainTranscript.connected { $0.dialect = dialect }
        let subscribe = Envelope.subscribe(channel: "private-x", auth: "app-key:00")
        #expect(server.text(1, subscribe.jsonText).events == [event])
        #expect(server.authorize(1, "private-x").events == [EventName.subscriptionSucceededInternal])
    }

    @Test("subscription faults also apply to channels that need an authorization")
    func faults() {
        var server = BrainTranscript.connected()
        for channel in ["private-x", "presence-x", "private-encrypted-x"] {
            _ = server.brain.failSubscriptions(to: channel, with: .error(code: 4009, message: "no"))
            #expect(server.join(1, channel, "1") == [.error(1, "no", code: "4009")])
            _ = server.brain.failSubscriptions(to: channel, with: nil)
            #expect(server.join(1, channel, "1").events == [EventName.subscriptionSucceededInternal])
        }
    }

    @Test("the server refuses hostile authorizations")
    func hostile() {
        var server = BrainTranscript.connected()
        let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
        let long = String(repeating: "x", count: 50_000)
        let values = [
            "null", "1", "true", "[]", "{}", #""""#, #"":""#, #""app-key:""#, #""app-key:\u0000""#, #""app-key:ä""#,
            #""app-key:\#(long)""#, #""\#(long)""#, #""\#(long):\#(long)""#, #""\ud800:\udfff""#,
        ]
        for channel in ["private-x", "presence-x", "private-encrypted-x", "presence-cache-x"] {
            for value in values {
                for other in ["null", "1", #""x""#, #""{}""#, "{}", #""\#(long)""#] {
                    let data = #"{"channel":"\#(channel)","auth":\#(value),"channel_data":\#(other)}"#
                    let actions = server.text(1, #"{"event":"pusher:subscribe","data":\#(data)}"#)
                    #expect(actions.events == [EventName.error])
                    #expect(actions.texts(to: 1).allSatisfy { $0.utf8.count < 4_000 })
                }
            }
            #expect(server.text(1, #"{"event":"pusher:subscribe","data":\#(deep)}"#).events == [EventName.error])
        }
        #expect(server.brain.openConnections.first?.subscribedChannels == [])
    }
}
