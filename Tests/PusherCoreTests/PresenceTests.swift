import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherCore

@Suite("Presence", .limited)
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
        "The client reads the member list of a success in every form that servers send",
        arguments: [
            // Members have the order of `ids`. Other members of the hash follow, sorted by id.
            (#"{"count":3,"ids":["c","a"],"hash":{"a":{"n":1},"c":null,"b":2,"aa":3}}"#, #" c a:{"n":1} aa:3 b:2"#),
            // The ids are numbers, but the keys of the hash are strings.
            (#"{"ids":[10,2],"hash":{"2":{"n":1},"10":null}}"#, #" 10 2:{"n":1}"#),
            // PHP encodes a hash as a list if the hash is empty, or if its keys are 0, 1, 2…
            (#"{"ids":["0","1"],"hash":[{"n":0},{"n":1}]}"#, #" 0:{"n":0} 1:{"n":1}"#),
            (#"{"count":0,"ids":[],"hash":[]}"#, " "), (#"{"hash":{}}"#, " "),
            (#"{"ids":["a"],"hash":null}"#, " a"), (#"{"ids":["a"]}"#, " a"), (#"{"hash":{"b":1,"a":2}}"#, " a:2 b:1"),
            // The information is the server's text, even if no number can represent it.
            (
                #"{"hash":{"a":{"n":1e400, "n":2.50},"b":18446744073709551615}}"#,
                #" a:{"n":1e400, "n":2.50} b:18446744073709551615"#
            ),
            // Some ids have no entry, some entries have no id, and some ids are duplicates or invalid.
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

    @Test("The client accepts the data of a success as an object instead of a string")
    func objectData() {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        var envelope = success(#"{"ids":["a"],"hash":{"a":1}}"#)
        envelope.data = .json(envelope.data.text ?? "")
        #expect(client.received(envelope).told == ["members presence-a a:1", "subscribed presence-a"])
    }

    @Test(
        "A success without a valid member list is reported as malformed, and the channel is subscribed without members",
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

    // MARK: Joining and leaving

    @Test("The client reports members who join and leave, with their information")
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

    @Test("The client announces a member in the list again if the member's information is new")
    func addedTwice() {
        var client = subscribed("1", "2")
        #expect(client.received(.memberAdded(name, "2")) == [])
        #expect(client.received(.memberAdded(name, "2", info: "3")) == ["added presence-a 2:3"])
        #expect(client.received(.memberAdded(name, "2", info: "3")) == [])
        #expect(client.members(of: name) == ["1", "2"])
        #expect(client.received(.memberRemoved(name, "2")) == ["removed presence-a 2:3"])
    }

    @Test("The client does not announce a member again if the server writes the same information in another way")
    func writtenInAnotherWay() {
        var client = subscribed("1")
        let info = #"{"a":1,"b":[2.50,1e400]}"#
        #expect(client.received(.memberAdded(name, "2", info: info)) == ["added presence-a 2:\(info)"])
        #expect(client.received(.memberAdded(name, "2", info: info)) == [])
        let usual = #"{"a":1,"b":[2.5]}"#
        #expect(client.received(.memberAdded(name, "2", info: usual)) == ["added presence-a 2:\(usual)"])
        #expect(client.received(.memberAdded(name, "2", info: #"{ "b" : [2.50], "a" : 1 }"#)) == [])
    }

    @Test("The client ignores `member_removed` for a member who is not in the list, and the member can still join")
    func removedEarly() {
        var client = subscribed("1")
        #expect(client.received(.memberRemoved(name, "2")) == [])
        #expect(client.received(.memberAdded(name, "2")) == ["added presence-a 2"])
    }

    @Test("The server may add this client's own member after the list (slanger)")
    func ownMemberLate() {
        var client = subscribed("2")
        #expect(client.machine.subscriptions[name]?.roster?.myID == "1")
        #expect(client.machine.subscriptions[name]?.roster?.member("1") == nil)
        #expect(client.received(.memberAdded(name, "1")) == ["added presence-a 1"])
        #expect(client.machine.subscriptions[name]?.roster?.member("1") != nil)
    }

    @Test("After a reconnect, a list without this client's own member does not remove the member (slanger)")
    func ownMemberKept() {
        var client = subscribed("2")
        client.received(.memberAdded(name, "1"))
        reconnect(&client)
        #expect(client.received(.members(name, ["2"])).told.words.first == "members presence-a 2 1")
        #expect(client.received(.memberAdded(name, "1")) == [])
        #expect(client.members(of: name) == ["2", "1"])
    }

    @Test("Two user ids that differ only in Unicode normalization are two members")
    func normalization() {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        // The second id consists of an "e" and a combining accent.
        let (one, two) = ("\u{E9}", "e\u{301}")
        client.received(success(#"{"ids":["\#(one)","\#(two)"],"hash":{"\#(one)":1,"\#(two)":2}}"#))
        func members() -> [String] {
            (client.machine.subscriptions[name]?.roster?.members ?? []).map { "\($0.id.utf8.count):\($0.info ?? "")" }
        }
        #expect(members() == ["2:1", "3:2"])
        client.received(.memberRemoved(name, "\"\(one)\""))
        #expect(members() == ["3:2"])
        client.received(.memberAdded(name, "\"\(one)\"", info: "3"))
        #expect(members() == ["3:2", "2:3"])
    }

    @Test(
        "The client reports a membership message without a valid user and ignores it (PusherSwift crashes)",
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
        "The client accepts unusual user ids",
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
        // The list replaces all earlier changes.
        #expect(client.received(.members("presence-b", ["2"])).told.words.first == "members presence-b 2")
        client.unsubscribe("presence-b")
        #expect(client.received(.memberAdded("presence-b", "3")) == [])
    }

    // MARK: Losses

    @Test("A channel has no members after a loss, and the next list reports the changes")
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

    @Test("After an unusable list, the previous members stay, and the next list reports the changes")
    func unusableAfterLoss() {
        var client = subscribed("1", "2")
        var envelope = Envelope.success(name)
        envelope.data = .json(#"{"presence":{"hash":{"1":\#(Self.nested)}}}"#)
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

    @Test("The client compares a list with the last known list, across several losses and refusals")
    func differenceOverLosses() {
        var client = subscribed("1", "2")
        reconnect(&client)
        client.received(.refusal(name))
        #expect(client.members(of: name) == [])
        reconnect(&client)
        #expect(client.received(.members(name, ["1"])).told.words.first == "members presence-a 1 removed 2")
    }

    @Test("A channel that is unsubscribed and subscribed again starts with a new list")
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

    @Test("A channel that is unsubscribed and subscribed while pending forgets the old list")
    func wantedAgain() {
        var client = subscribed("1", "2")
        reconnect(&client)
        client.unsubscribe(name)
        client.subscribe(name)
        #expect(client.received(.members(name, ["3"])).told == ["members presence-a 3", "subscribed presence-a"])
        #expect(client.machine.subscriptions[name]?.roster?.myID == "1")
    }

    @Test("A second success on the same connection replaces the list")
    func secondSuccess() {
        var client = subscribed("1", "2")
        #expect(client.received(.members(name, ["2", "3"])) == ["members presence-a 2 3 1 added 3"])
        #expect(client.received(.members(name, ["1", "3"])) == ["members presence-a 1 3 removed 2"])
    }

    @Test(
        "After an unexpected success, the client unsubscribes the channel and ignores the members",
        arguments: [true, false]
    )
    func straySuccess(isAuthorizing: Bool) {
        var client = CoreClient.connected()
        client.subscribe(name)
        if !isAuthorizing { client.authorized(name, .failure(AuthorizationError(.refused, "no"))) }
        #expect(client.received(.members(name, ["1"])) == ["send 1 unsubscribe presence-a"])
        #expect(client.members(of: name) == [])
    }

    // MARK: "Existing subscription"

    @Test("The client subscribes again once after \"Existing subscription\", to get the members")
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
        // The next call may subscribe again.
        client.subscribe(name)
        client.authorized(name)
        #expect(client.received(existing).wire == ["send 1 unsubscribe presence-a", "send 1 subscribe presence-a"])
        #expect(client.received(.members(name, ["1"])).told == ["members presence-a 1", "subscribed presence-a"])
        // The next connection may subscribe again, too.
        reconnect(&client)
        #expect(client.received(existing).wire == ["send 2 unsubscribe presence-a", "send 2 subscribe presence-a"])
    }

    @Test("A repeated subscription has its own timeout")
    func startedOverTimesOut() {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        client.advance(by: .seconds(9))
        client.received(.error(nil, "Existing subscription to channel \(name)"))
        #expect(client.advance(by: .seconds(9)).told == [])
        client.advance(by: .seconds(1))
        #expect(client.decide(.seconds(1)).told == ["failed presence-a subscriptionTimedOut"])
    }

    // MARK: This client's own member

    @Test(
        "This client's user id comes from channel_data, which the client sends unchanged",
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
        "An authorization is invalid if its channel_data names no user",
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
