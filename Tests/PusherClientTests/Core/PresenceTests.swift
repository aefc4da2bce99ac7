import PusherClient
import PusherProtocol
import TestSupport
import Testing

@Suite("Presence")
struct PresenceTests {
    private let name = "presence-a"
    private static let nested = String(repeating: "[", count: 1_000) + String(repeating: "]", count: 1_000)

    private func subscribed(_ ids: String...) -> CoreClient { .subscribed(name, .members(name, ids)) }

    private func reconnect(_ client: inout CoreClient) {
        client.closed()
        client.connect()
        client.establish()
        client.authorized(name)
    }

    // MARK: The list of a success

    private func success(_ presence: String) -> Envelope {
        var envelope = Envelope.success(name)
        envelope.data = .string(#"{"presence":\#(presence)}"#)
        return envelope
    }

    @Test(
        "The list of a success may have every shape that servers send",
        arguments: [
            // The order of the ids, and the other entries of the hash by id.
            (#"{"count":3,"ids":["c","a"],"hash":{"a":{"n":1},"c":null,"b":2,"aa":3}}"#, #" c a:{"n":1} aa:3 b:2"#),
            // Ids as numbers, if the hash has them as strings.
            (#"{"ids":[10,2],"hash":{"2":{"n":1},"10":null}}"#, #" 10 2:{"n":1}"#),
            // PHP: a hash whose keys are 0, 1, 2… is a list, and an empty one is one too.
            (#"{"ids":["0","1"],"hash":[{"n":0},{"n":1}]}"#, #" 0:{"n":0} 1:{"n":1}"#),
            (#"{"count":0,"ids":[],"hash":[]}"#, " "), (#"{"hash":{}}"#, " "),
            (#"{"ids":["a"],"hash":null}"#, " a"), (#"{"ids":["a"]}"#, " a"), (#"{"hash":{"b":1,"a":2}}"#, " a:2 b:1"),
            // Ids without an entry, entries without an id, duplicate ids, and none.
            (#"{"ids":["a","b","a",1,"1"],"hash":{"b":{}}}"#, " a b:{} 1"),
            (#"{"ids":["a","",null,true,{},[]],"hash":{"":1}}"#, " a"), (#"{"ids":3,"hash":{"a":1}}"#, " a:1"),
            (#"{"ids":["a"],"hash":"x"}"#, " a"),
        ]
    )
    func shapes(presence: String, members: String) {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        #expect(client.received(success(presence)).told == ["members presence-a\(members)", "subscribed presence-a"])
    }

    @Test("The data may be an object instead of a string")
    func objectData() {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        var envelope = success(#"{"ids":["a"],"hash":{"a":1}}"#)
        envelope.data = .json(envelope.data.text ?? "")
        #expect(client.received(envelope).told == ["members presence-a a:1", "subscribed presence-a"])
    }

    @Test(
        "A success without a list has no members, and is reported",
        arguments: [
            "{}", "", "x", #"{"presence":null}"#, #"{"presence":[]}"#, #"{"presence":{}}"#,
            #"{"presence":{"count":1}}"#,
            #"{"presence":{"hash":{"a":\#(Self.nested)}}}"#,
        ] as [LongText]
    )
    func unusable(data: LongText) {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        var envelope = Envelope.success(name)
        envelope.data = .string(data.text)
        #expect(
            client.received(envelope).told == [
                "report malformedMessage of presence-a", "members presence-a ", "subscribed presence-a",
            ]
        )
    }

    // MARK: Coming and going

    @Test("Members join and leave, with their information")
    func changes() {
        var client = subscribed("1")
        #expect(client.received(.memberAdded(name, "\"b\"", info: #"{"n":1}"#)) == [#"added presence-a b:{"n":1}"#])
        #expect(client.received(.memberAdded(name, "7")) == ["added presence-a 7"])
        #expect(client.members(of: name) == ["1", "b", "7"])
        #expect(client.received(.memberRemoved(name, "\"b\"")) == [#"removed presence-a b:{"n":1}"#])
        // A number and a string are the same id.
        #expect(client.received(.memberRemoved(name, "\"7\"")) == ["removed presence-a 7"])
        #expect(client.members(of: name) == ["1"])
    }

    @Test("A present member does not join again, but gets the newest information")
    func addedTwice() {
        var client = subscribed("1", "2")
        #expect(client.received(.memberAdded(name, "2", info: "3")) == [])
        #expect(client.members(of: name) == ["1", "2"])
        #expect(client.received(.memberRemoved(name, "2")) == ["removed presence-a 2:3"])
    }

    @Test("A member who is absent does not leave, and may still join later")
    func removedEarly() {
        var client = subscribed("1")
        #expect(client.received(.memberRemoved(name, "2")) == [])
        #expect(client.received(.memberAdded(name, "2")) == ["added presence-a 2"])
    }

    @Test("This client's own member may be missing from the list, and be added later (slanger)")
    func ownMemberLate() {
        var client = subscribed("2")
        #expect(client.machine.subscriptions[name]?.roster?.myID == "1")
        #expect(client.machine.subscriptions[name]?.roster?.member("1") == nil)
        #expect(client.received(.memberAdded(name, "1")) == ["added presence-a 1"])
        #expect(client.machine.subscriptions[name]?.roster?.member("1") != nil)
    }

    @Test(
        "A message without a user is reported, and changes nothing (PusherSwift crashes)",
        arguments: [EventName.memberAddedInternal, EventName.memberRemovedInternal],
        [
            "", "{}", "[]", "null", "3", "x", #"{"user_info":{}}"#, #"{"user_id":null}"#, #"{"user_id":""}"#,
            #"{"user_id":{}}"#, #"{"user_id":[1]}"#, #"{"user_id":true}"#,
            LongText(repeating: "[", count: 100_000),
            #"{"user_id":"2","user_info":\#(Self.nested)}"#,
        ] as [LongText]
    )
    func malformed(event: String, data: LongText) {
        var client = subscribed("1")
        for payload in [Envelope.Payload.string(data.text), .json(data.text), .none] {
            let envelope = Envelope(event: event, channel: name, data: payload)
            #expect(client.received(envelope) == ["report malformedMessage of presence-a"])
        }
        #expect(client.members(of: name) == ["1"])
    }

    @Test(
        "Unusual ids are accepted",
        arguments: [("1.5", "1.5"), ("1e300", "1e+300"), ("-0", "0"), ("\"\\u0000\"", "\0")]
    )
    func oddIDs(json: String, id: String) {
        var client = subscribed("x")
        client.received(.memberAdded(name, json))
        #expect(client.members(of: name) == ["x", id])
    }

    @Test("Only subscribed presence channels have members")
    func elsewhere() {
        var client = CoreClient.connected()
        for other in ["private-a", "a", "presence-b"] { client.subscribe(other) }
        client.authorized("presence-b")
        for other: String? in ["private-a", "a", "presence-b", "presence-stranger", nil] {
            var envelope = Envelope.memberAdded("", "1")
            envelope.channel = other
            #expect(client.received(envelope) == [])
            envelope.event = EventName.memberRemovedInternal
            #expect(client.received(envelope) == [])
        }
        // The list already contains earlier changes, or they are outdated.
        #expect(client.received(.members("presence-b", ["2"])).told.words.first == "members presence-b 2")
        client.unsubscribe("presence-b")
        #expect(client.received(.memberAdded("presence-b", "3")) == [])
    }

    // MARK: Losses

    @Test("Without a connection there are no members, and the next list reports the changes")
    func replaced() {
        var client = subscribed("1", "2", "3")
        client.received(.memberRemoved(name, "2"))
        client.received(.memberAdded(name, "4"))
        reconnect(&client)
        #expect(client.members(of: name) == [])
        #expect(client.received(.memberAdded(name, "9")) == [])
        #expect(
            client.received(.members(name, ["4", "5", "1"])).told == [
                "members presence-a 4 5 1 added 5 removed 3", "subscribed presence-a away 0s",
            ]
        )
        #expect(client.members(of: name) == ["4", "5", "1"])
    }

    @Test("An unusable list leaves the previous one, and the next reports the changes since then")
    func unusableAfterLoss() {
        var client = subscribed("1", "2")
        var envelope = Envelope.success(name)
        envelope.data = .json(#"{"presence":{"hash":{"1":{"balance":1e400}}}}"#)
        // An answer that the client did not request changes nothing.
        #expect(client.received(envelope).told == ["report malformedMessage of presence-a"])
        #expect(client.members(of: name) == ["1", "2"])
        reconnect(&client)
        #expect(
            client.received(envelope).told == [
                "report malformedMessage of presence-a", "members presence-a 1 2", "subscribed presence-a away 0s",
            ]
        )
        #expect(client.received(.memberAdded(name, "3")).told == ["added presence-a 3"])
        reconnect(&client)
        let transcript = client.received(.members(name, ["1", "3"]))
        #expect(transcript.told.words.first == "members presence-a 1 3 removed 2")
    }

    @Test("The difference is to the last known list, across several losses and rejections")
    func differenceOverLosses() {
        var client = subscribed("1", "2")
        reconnect(&client)
        client.received(.refusal(name))
        #expect(client.members(of: name) == [])
        reconnect(&client)
        #expect(client.received(.members(name, ["1"])).told.words.first == "members presence-a 1 removed 2")
    }

    @Test("A channel that was unsubscribed meanwhile starts with a new list")
    func newChannel() {
        var client = subscribed("1", "2")
        client.closed()
        client.unsubscribe(name)
        client.subscribe(name)
        client.connect()
        client.establish()
        client.authorized(name)
        #expect(client.received(.members(name, ["3"])).told == ["members presence-a 3", "subscribed presence-a"])
    }

    @Test("A channel that is unsubscribed and subscribed while pending keeps no old list")
    func reinstated() {
        var client = subscribed("1", "2")
        reconnect(&client)
        client.unsubscribe(name)
        client.subscribe(name)
        #expect(client.received(.members(name, ["3"])).told == ["members presence-a 3", "subscribed presence-a"])
        #expect(client.machine.subscriptions[name]?.roster?.myID == "1")
    }

    @Test("A second success on the same connection is another list")
    func secondSuccess() {
        var client = subscribed("1", "2")
        #expect(client.received(.members(name, ["2", "3"])) == ["members presence-a 2 3 added 3 removed 1"])
    }

    @Test("An unexpected success brings no members, and is ended", arguments: [true, false])
    func straySuccess(isAuthorizing: Bool) {
        var client = CoreClient.connected()
        client.subscribe(name)
        if !isAuthorizing { client.authorized(name, .failure(AuthorizationError(.refused, "no"))) }
        #expect(client.received(.members(name, ["1"])) == ["send 1 unsubscribe presence-a"])
        #expect(client.members(of: name) == [])
    }

    // MARK: "Existing subscription"

    @Test("A channel that the server already has is subscribed again, once, because that brings its members")
    func startsOver() {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        let existing = Envelope.error(nil, "Existing subscription to channel \(name)")
        #expect(client.received(existing).wire == ["send 1 unsubscribe presence-a", "send 1 subscribe presence-a"])
        #expect(
            client.received(existing).told == [
                "report serverError of presence-a", "failed presence-a subscriptionRefused",
            ]
        )
        // The next call may do so again.
        client.subscribe(name)
        client.authorized(name)
        #expect(client.received(existing).wire == ["send 1 unsubscribe presence-a", "send 1 subscribe presence-a"])
        #expect(client.received(.members(name, ["1"])).told == ["members presence-a 1", "subscribed presence-a"])
        // And the next connection too.
        reconnect(&client)
        #expect(client.received(existing).wire == ["send 2 unsubscribe presence-a", "send 2 subscribe presence-a"])
    }

    @Test("The second subscription has its own timeout")
    func startedOverTimesOut() {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        client.advance(by: .seconds(9))
        client.received(.error(nil, "Existing subscription to channel \(name)"))
        #expect(client.advance(by: .seconds(9)).told == [])
        #expect(client.advance(by: .seconds(1)).told == ["failed presence-a subscriptionTimedOut"])
    }

    // MARK: Who this client is

    @Test(
        "The id is the one in channel_data, which is sent unchanged",
        arguments: [(#"{"user_id":"u1"}"#, "u1"), (#"{ "user_id" : 7, "user_info": {"n":"é"} }"#, "7")]
    )
    func channelData(data: String, id: String) throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        let effects = client.authorized(name, .success(Authorization(auth: "key:1.1/\(name)", data: data)))
        #expect(client.machine.subscriptions[name]?.roster?.myID == id)
        #expect(effects.sent.first?.data.value?["channel_data"] == .string(data))
        client.received(.members(name, [id]))
        client.closed()
        #expect(client.machine.subscriptions[name]?.roster?.myID == id)
    }

    @Test(
        "channel_data without a user is not an authorization",
        arguments: ["", "{}", "[]", "x", #"{"user_id":""}"#, #"{"user_id":null}"#, #"{"user_id":"#, "\"u\""]
    )
    func unusableChannelData(data: String) {
        var client = CoreClient.connected()
        client.subscribe(name)
        let transcript = client.authorized(name, .success(Authorization(auth: "key:1.1/\(name)", data: data)))
        #expect(transcript.told == ["failed presence-a invalidAuthorization"])
        #expect(transcript.wire == [])
    }
}
