import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Presence", .limited)
struct PresenceTests {
    private func succeeded(_ presence: String) -> String {
        message(EventName.subscriptionSucceededInternal, #"{"presence":\#(presence)}"#, "presence-x")
    }

    private func added(_ member: String, isString: Bool = true) -> String {
        message("pusher_internal:member_added", member, "presence-x", isString: isString)
    }

    private func removed(_ member: String, isString: Bool = true) -> String {
        message("pusher_internal:member_removed", member, "presence-x", isString: isString)
    }

    @Test("a new member gets the list, and the other members get joins and leaves")
    func joinAndLeave() {
        var server = BrainTranscript.connected(3)
        let info = #"{"name":"A","n":1.50}"#
        #expect(
            server.join(1, "presence-x", #""a""#, info: info) == [
                .send(1, succeeded(#"{"count":1,"ids":["a"],"hash":{"a":\#(info)}}"#))
            ]
        )
        #expect(
            server.join(2, "presence-x", #""b""#) == [
                .send(2, succeeded(#"{"count":2,"ids":["a","b"],"hash":{"a":\#(info),"b":null}}"#)),
                .send(1, added(#"{"user_id":"b"}"#)),
            ]
        )
        #expect(
            server.join(3, "presence-x", "10", info: "[1]").last
                == .send(2, added(#"{"user_id":"10","user_info":[1]}"#))
        )
        #expect(
            server.brain.presenceMembers(of: "presence-x") == [
                .init(userID: "a", userInfo: info), .init(userID: "b"), .init(userID: "10", userInfo: "[1]"),
            ]
        )
        #expect(
            server.unsubscribe(1, "presence-x") == [
                .send(2, removed(#"{"user_id":"a"}"#)), .send(3, removed(#"{"user_id":"a"}"#)),
            ]
        )
        #expect(server.brain.connectionEnded(id(2)).withoutRecords == [.send(3, removed(#"{"user_id":"b"}"#))])
        #expect(server.brain.dropConnections(.all).withoutRecords == [.end(1), .end(3)])
        #expect(server.brain.presenceMembers(of: "presence-x").isEmpty)
    }

    @Test("two user ids that differ only in Unicode normalization are two users")
    func normalization() {
        var server = BrainTranscript.connected(2)
        _ = server.join(1, "presence-x", #""\u00e9""#)
        #expect(server.join(2, "presence-x", #""e\u0301""#).last == .send(1, added("{\"user_id\":\"e\u{301}\"}")))
        #expect(server.brain.presenceMembers(of: "presence-x").map(\.userID.utf8.count) == [2, 3])
        #expect(server.unsubscribe(1, "presence-x") == [.send(2, removed("{\"user_id\":\"\u{E9}\"}"))])
    }

    @Test("a user joins with the first connection, and leaves with the last")
    func severalConnections() {
        var server = BrainTranscript.connected(3)
        _ = server.join(1, "presence-x", #""a""#)
        #expect(server.join(2, "presence-x", #""b""#).count == 2)
        let list = succeeded(#"{"count":2,"ids":["a","b"],"hash":{"a":null,"b":null}}"#)
        #expect(server.join(3, "presence-x", #""b""#) == [.send(3, list)])
        #expect(server.unsubscribe(2, "presence-x").isEmpty)
        #expect(server.brain.connectionEnded(id(3)).withoutRecords == [.send(1, removed(#"{"user_id":"b"}"#))])
    }

    @Test("records contain joins and leaves")
    func records() {
        var server = BrainTranscript.connected(1)
        let data = #"{"user_id":"a"}"#
        let auth = server.brain.options.application.authorization(
            socketID: "7.1",
            channel: "presence-x",
            channelData: data,
            masterKey: nil
        ).auth
        let subscribe = Envelope.subscribe(channel: "presence-x", auth: auth, channelData: data)
        let joined = server.brain.received(.text(subscribe.jsonText), on: id(1))
        #expect(joined.contains(.record(socketID: "7.1", .memberJoined(channel: "presence-x", userID: "a"))))
        let left = server.brain.connectionEnded(id(1))
        #expect(left.contains(.record(socketID: "7.1", .memberLeft(channel: "presence-x", userID: "a"))))
    }

    @Test("presence channels get no subscription_count")
    func counts() {
        var server = BrainTranscript.connected(2) { $0.sendsSubscriptionCounts = true }
        #expect(server.join(1, "presence-x", "1").count == 1)
        #expect(server.authorize(1, "private-x").count == 2)
    }

    @Test(
        "the server refuses channel_data without a user",
        arguments: [
            nil, "", "x", "[]", "{}", #"{"user_id":null}"#, #"{"user_id":""}"#, #"{"user_id":{}}"#,
            #"{"user_id":true}"#,
            #"{"user_id":"u"} x"#, #"{"user_id":"u","user_info":\#(String(repeating: "[", count: 100))"#,
            #"{"user_id":"\#(String(repeating: "u", count: 129))"}"#,
            #"{"user_id":"u","user_info":"\#(String(repeating: "i", count: 1_023))"}"#,
            LongText(repeating: "{\"user_id\":", count: 50_000), LongText(repeating: "9", count: 1_000_000),
        ] as [LongText?]
    )
    func invalidChannelData(data: LongText?) throws {
        var server = BrainTranscript.connected(2)
        _ = server.join(2, "presence-x", "2")
        let actions = server.authorize(1, "presence-x", data?.text)
        #expect(actions.events == [EventName.error])
        let text = try #require(actions.texts(to: 1).first)
        #expect(text.contains("presence-x") && text.utf8.count < 2_000)
        #expect(server.brain.presenceMembers(of: "presence-x").count == 1)
    }

    @Test("the server accepts the longest id and the largest info")
    func limits() {
        var server = BrainTranscript.connected()
        let id = #""\#(String(repeating: "u", count: 128))""#
        let info = #""\#(String(repeating: "i", count: 1_022))""#
        #expect(server.join(1, "presence-x", id, info: info).events == [EventName.subscriptionSucceededInternal])
    }

    @Test("the server refuses the 101st user, but not another connection of a user")
    func memberLimit() {
        var server = BrainTranscript.connected(102)
        for number in 1...100 { _ = server.join(number, "presence-x", "\(number)") }
        #expect(server.join(101, "presence-x", "101").events == [EventName.error])
        #expect(server.join(102, "presence-x", "100").events == [EventName.subscriptionSucceededInternal])
        #expect(server.brain.presenceMembers(of: "presence-x").count == 100)
        var soketi = BrainTranscript.connected(2) { options in
            options.dialect = .soketi
            options.maximumMemberCount = 1
        }
        _ = soketi.join(1, "presence-x", "1")
        let error =
            #"{"type":"LimitReached","error":"The maximum members per presence channel limit was reached on presence-x","status":4100}"#
        #expect(
            soketi.join(2, "presence-x", "2") == [
                .send(2, message(EventName.subscriptionError, error, "presence-x", isString: false))
            ]
        )
    }

    @Test("a signed-in connection needs no channel_data")
    func signedIn() {
        var server = BrainTranscript.connected()
        _ = server.signIn(1, #"{"id":"u","user_info":{"name":"U"}}"#)
        let list = succeeded(#"{"count":1,"ids":["u"],"hash":{"u":{"name":"U"}}}"#)
        #expect(server.authorize(1, "presence-x") == [.send(1, list)])
    }

    // MARK: Dialects

    @Test(
        "each dialect treats numeric ids in its own way",
        arguments: [
            (Dialect.pusher, #"["1"]"#), (.soketi, "[1]"), (.reverb, "[1]"), (.pylon, #"["1"]"#),
            (.poxa, #"["1"]"#),
        ]
    )
    func numericIDs(dialect: Dialect, ids: String) {
        var server = BrainTranscript.connected { $0.dialect = dialect }
        let text = dialect.text(
            Envelope(
                event: EventName.subscriptionSucceededInternal,
                channel: "presence-x",
                data: .string(#"{"presence":{"count":1,"ids":\#(ids),"hash":{"1":null}}}"#)
            )
        )
        #expect(server.join(1, "presence-x", "1") == [.send(1, text)])
    }

    @Test("ipe refuses numeric user ids with error 4200")
    func numericIDsOfIpe() {
        var server = BrainTranscript.connected { $0.dialect = .ipe }
        let text = Dialect.ipe.error(code: 4200, message: "Generic reconnect immediately")
        #expect(server.join(1, "presence-x", "1") == [.send(1, text)])
        #expect(server.brain.openConnections.first?.subscribedChannels == [])
        #expect(server.join(1, "presence-x", #""1""#).events == [EventName.subscriptionSucceededInternal])
    }

    @Test("Reverb writes the hash as a list if the ids are 0, 1, 2 and so on")
    func listHash() {
        var server = BrainTranscript.connected(3) { $0.dialect = .reverb }
        #expect(
            server.join(1, "presence-x", "0", info: "{}").texts(to: 1) == [
                succeeded(#"{"count":1,"ids":[0],"hash":[{}]}"#)
            ]
        )
        #expect(
            server.join(2, "presence-x", #""1""#).texts(to: 2) == [
                succeeded(#"{"count":2,"ids":[0,"1"],"hash":[{},null]}"#)
            ]
        )
        #expect(
            server.join(3, "presence-x", "3").texts(to: 3) == [
                succeeded(#"{"count":3,"ids":[0,"1",3],"hash":{"0":{},"1":null,"3":null}}"#)
            ]
        )
    }

    @Test("slanger also sends member_added to the new user, and lists a user once for each connection")
    func slanger() {
        var server = BrainTranscript.connected(3) { $0.dialect = .slanger }
        #expect(
            server.join(1, "presence-x", "1") == [
                .send(1, succeeded(#"{"count":0,"ids":[],"hash":{}}"#)),
                .send(1, added(#"{"user_id":1}"#, isString: false)),
            ]
        )
        _ = server.join(2, "presence-x", "1")
        #expect(
            server.join(3, "presence-x", "2").texts(to: 3).first
                == succeeded(#"{"count":2,"ids":[1,1],"hash":{"1":null}}"#)
        )
        #expect(server.unsubscribe(3, "presence-x").texts(to: 1) == [removed(#"{"user_id":2}"#, isString: false)])
    }

    @Test("pusher-fake sends no list of ids, announces each connection, and removes members too early")
    func pusherFake() {
        var server = BrainTranscript.connected(3) { $0.dialect = .pusherFake }
        let hash = succeeded(#"{"count":1,"hash":{"1":null}}"#)
        #expect(server.join(1, "presence-x", "1", info: nil) == [.send(1, hash)])
        let member = #"{"user_id":"2","user_info":{}}"#
        #expect(server.join(2, "presence-x", "2", info: "{}").texts(to: 1) == [added(member)])
        #expect(server.join(3, "presence-x", "2", info: "{}").texts(to: 1) == [added(member)])
        #expect(server.unsubscribe(3, "presence-x").texts(to: 1) == [removed(member)])
        #expect(server.unsubscribe(2, "presence-x").texts(to: 1) == [removed(member)])
    }

    @Test("a duplicate subscription gets the list again if the dialect confirms duplicates")
    func duplicate() {
        var server = BrainTranscript.connected { $0.dialect = .poxa }
        let first = server.join(1, "presence-x", "1")
        #expect(server.join(1, "presence-x", "1") == first)
    }
}
