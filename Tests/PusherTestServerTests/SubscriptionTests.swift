import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Subscriptions", .limited)
struct SubscriptionTests {
    private func connected(_ count: Int = 1, _ change: (inout Options) -> Void = { _ in }) -> BrainTranscript {
        var server = BrainTranscript(change)
        for number in 1...count { _ = server.connect(number) }
        return server
    }

    @Test("the server answers subscriptions, duplicates and unknown channels with Pusher's messages")
    func words() {
        var server = connected()
        #expect(server.subscribe(1, "news") == [.succeeded(1, "news")])
        #expect(server.brain.openConnections.map(\.subscribedChannels) == [["news"]])
        #expect(server.subscribe(1, "news") == [.error(1, "Existing subscription to channel news")])
        #expect(server.unsubscribe(1, "news").isEmpty)
        let unknown = "No current subscription to channel news, or subscription in progress"
        #expect(server.unsubscribe(1, "news") == [.error(1, unknown)])
        #expect(server.subscribe(1, "news") == [.succeeded(1, "news")])
    }

    @Test(
        "the server refuses a subscription without a required authorization",
        arguments: ["private-x", "presence-x", "private-encrypted-x", "private-cache-x", "presence-cache-x"]
    )
    func authorization(channel: String) {
        var server = connected()
        #expect(server.subscribe(1, channel) == [.error(1, "Auth info required to subscribe to \(channel)")])
        #expect(server.brain.subscriptionCount(of: channel) == 0)
    }

    @Test("the server refuses invalid names", arguments: ["", "a b", "#server-to-user-1", "ä", "a/b"])
    func names(channel: String) {
        var server = connected()
        #expect(server.subscribe(1, channel) == [.error(1, "Invalid channel name: \(channel)")])
    }

    @Test(
        "each dialect confirms a subscription in its own form",
        arguments: [
            (Dialect.pusher, #","data":"{}","channel":"a"}"#), (.soketi, #","channel":"a"}"#),
            (.pylon, #","data":"","channel":"a"}"#), (.poxa, #","data":{},"channel":"a"}"#),
            (.ipe, #","data":"{}","channel":"a"}"# + "\n"),
        ]
    )
    func successForms(dialect: Dialect, rest: String) {
        var server = connected { $0.dialect = dialect }
        let start = #"{"event":"pusher_internal:subscription_succeeded""#
        #expect(server.subscribe(1, "a") == [.send(1, start + rest)])
    }

    @Test(
        "each dialect refuses a subscription in its own form",
        arguments: [
            (
                Dialect.pusher,
                #"{"event":"pusher:error","data":{"code":null,"message":"Auth info required to subscribe to private-a"}}"#
            ),
            (
                .slanger,
                #"{"event":"pusher:error","data":"{\"message\":\"Auth info required to subscribe to private-a\"}"}"#
            ),
            (
                .reverb,
                #"{"event":"pusher:error","data":"{\"code\":4009,\"message\":\"Connection is unauthorized\"}"}"#
            ),
            (
                .soketi,
                #"{"event":"pusher:subscription_error","data":{"type":"AuthError","#
                    + #""error":"Auth info required to subscribe to private-a","status":401},"channel":"private-a"}"#
            ),
            (.pusherFake, #"{"event":"pusher_internal:subscription_error","data":"{}","channel":"private-a"}"#),
        ]
    )
    func refusalForms(dialect: Dialect, text: String) {
        var server = connected { $0.dialect = dialect }
        #expect(server.subscribe(1, "private-a") == [.send(1, text)])
    }

    @Test(
        "each dialect answers a duplicate subscription in its own way",
        arguments: Dialect.DuplicateSubscription.allCases
    )
    func duplicates(form: Dialect.DuplicateSubscription) {
        var server = connected { $0.dialect.duplicateSubscription = form }
        _ = server.subscribe(1, "a")
        let expected: [ServerAction] =
            switch form {
            case .error: [.error(1, "Existing subscription to channel a")]
            case .success: [.succeeded(1, "a")]
            case .nothing: []
            }
        #expect(server.subscribe(1, "a") == expected)
        #expect(server.brain.subscriptionCount(of: "a") == 1)
    }

    @Test(
        "ping and pong have the form of the dialect",
        arguments: [
            (Dialect.EmptyData.missing, ""), (.object, #","data":{}"#), (.string, #","data":"{}""#),
            (.emptyString, #","data":"""#), (.nullString, #","data":"null""#),
        ]
    )
    func pings(form: Dialect.EmptyData, rest: String) {
        var server = connected { options in
            options.dialect.pingData = form
            options.dialect.pongData = form
        }
        #expect(server.text(1, Envelope.ping.jsonText) == [.send(1, #"{"event":"pusher:pong"\#(rest)}"#)])
        #expect(server.brain.sendPing(.all).withoutRecords.first == .send(1, #"{"event":"pusher:ping"\#(rest)}"#))
    }

    @Test("with sendsSubscriptionCounts, all subscribers get each change of the count")
    func counts() {
        var server = connected(3) { $0.sendsSubscriptionCounts = true }
        func count(_ number: Int, _ count: Int) -> ServerAction {
            let data = #"{\"subscription_count\":\#(count)}"#
            return .send(
                number,
                #"{"event":"pusher_internal:subscription_count","data":"\#(data)","channel":"a"}"#
            )
        }
        #expect(server.subscribe(1, "a") == [.succeeded(1, "a"), count(1, 1)])
        #expect(server.subscribe(2, "a") == [.succeeded(2, "a"), count(1, 2), count(2, 2)])
        #expect(server.unsubscribe(1, "a") == [count(2, 1)])
        #expect(server.subscribe(3, "a") == [.succeeded(3, "a"), count(2, 2), count(3, 2)])
        #expect(server.brain.connectionEnded(id(2)).withoutRecords == [count(3, 1)])
        #expect(server.brain.dropConnections(.socket("7.3")).withoutRecords == [.end(3)])
        #expect(server.brain.subscriptionCount(of: "a") == 0)
    }

    @Test("events go to all subscribers except the excluded connection, byte for byte")
    func publishing() throws {
        var server = connected(3)
        for number in 1...2 { _ = server.subscribe(number, "a") }
        _ = server.subscribe(3, "b")
        let data = "{ \"x\" : \"\u{0}/<é🚀\\u00e9\" }\n"
        let actions = try server.publish("App\\Events\\X", data, ["a", "b", "c"], excluding: "7.1")
        let texts = actions.compactMap { action -> String? in
            if case .send(_, .text(let text)) = action { text } else { nil }
        }
        let messages = try texts.map { try Envelope(decoding: $0) }
        #expect(messages.map(\.channel) == ["a", "b"])
        #expect(messages.map(\.data) == [.string(data), .string(data)])
        #expect(messages.map(\.event) == ["App\\Events\\X", "App\\Events\\X"])
    }

    @Test("unnecessary escapes do not change a message's meaning", arguments: Dialect.Escaping.allCases)
    func escaping(form: Dialect.Escaping) throws {
        var server = connected { $0.dialect.escaping = form }
        _ = server.subscribe(1, "a")
        let data = #"</a\/b\\/>"#
        guard case .send(_, .text(let text))? = try server.publish("e", data, ["a"]).first else {
            Issue.record("nothing was sent")
            return
        }
        #expect(try Envelope(decoding: text).data == .string(data))
        #expect(text.contains("\\u003c") == (form == .angleBrackets))
        #expect(text.contains("<\\/a") == (form == .slashes))
    }
}
