import PusherProtocol
import RealtimeJSON
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Signed-in users", .limited)
struct UserTests {
    private func success(_ userData: String) -> String {
        message(
            "pusher:signin_success",
            JSONWriter.object([("user_data", JSONWriter.string(userData))]),
            isString: false
        )
    }

    private func watchlist(_ events: String) -> String {
        message("pusher_internal:watchlist_events", #"{"events":[\#(events)]}"#)
    }

    @Test(
        "signatures match the examples in Pusher's documentation",
        arguments: [
            (#"{"id":"12345"}"#, "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba"),
            (
                #"{"id":"1","user_info":{"name":"Zoë"},"watchlist":["2","3"]}"#,
                "31a12919d25cfe278f8689d93abbcf79a1f40fe4996b9789a1f1a4d3529637e3"
            ),
        ]
    )
    func vectors(userData: String, signature: String) {
        var options = Options()
        options.application = AuthorizationTests.application
        var server = BrainTranscript { $0 = options }
        server.brain = ServerBrain(options: options, socketIDPrefix: 1234)
        _ = server.connect(1234, "/app/\(options.application.key)")
        let actions = server.signIn(1234, auth: "\(options.application.key):\(signature)", userData)
        #expect(actions.first == .send(1234, success(userData)))
        #expect(server.brain.openConnections.first?.userID != nil)
    }

    @Test("a second sign-in succeeds for the same user and fails for another user")
    func signInAgain() {
        var server = BrainTranscript.connected()
        #expect(server.signIn(1, #"{"id":"a"}"#) == [.send(1, success(#"{"id":"a"}"#))])
        #expect(server.signIn(1, #"{"id":"a"}"#) == [.send(1, success(#"{"id":"a"}"#))])
        #expect(
            server.signIn(1, #"{"id":"b"}"#) == [.error(1, "The connection is already signed in as another user")]
        )
        #expect(server.brain.openConnections.map(\.userID) == ["a"])
    }

    @Test(
        "the server refuses user_data without a user",
        arguments: [
            "", "x", "[]", "{}", #"{"id":""}"#, #"{"id":null}"#, #"{"id":[]}"#, #"{"id":"a""#,
            #"{"id":"\#(String(repeating: "a", count: 129))"}"#, LongText(repeating: "[", count: 100_000),
        ] as [LongText]
    )
    func invalidUserData(userData: LongText) {
        var server = BrainTranscript.connected()
        #expect(server.signIn(1, userData.text).events == [EventName.error])
        #expect(server.brain.openConnections.map(\.userID) == [nil])
    }

    @Test("the server answers malformed sign-ins with a short error", arguments: [Dialect.pusher, .reverb, .slanger])
    func shapes(dialect: Dialect) {
        var server = BrainTranscript.connected { $0.dialect = dialect }
        let long = #""\#(String(repeating: "x", count: 1_000_000))""#
        let values = ["null", "1", "[]", "{}", #""""#, #""app-key:0""#, #""{\"id\":\"a\"}""#, long]
        for auth in values {
            for data in values {
                let text = #"{"event":"pusher:signin","data":{"auth":\#(auth),"user_data":\#(data)}}"#
                let actions = server.text(1, text)
                #expect(actions.events == [EventName.error])
                #expect(actions.texts(to: 1).allSatisfy { $0.utf8.count < 4_000 })
            }
        }
    }

    @Test("a wrong signature gets an error, and the connection stays open")
    func badSignature() {
        var server = BrainTranscript.connected()
        let data = #"{\"id\":\"a\"}"#
        let text = "Invalid signature: Expected HMAC SHA256 hex digest of 7.1::user::\(data), but got 00"
        #expect(server.signIn(1, auth: "app-key:00", #"{"id":"a"}"#) == [.error(1, text)])
        #expect(server.brain.openConnections.count == 1)
    }

    @Test("soketi and pylon close the connection after a failed sign-in", arguments: [Dialect.soketi, .pylon])
    func badSignatureCloses(dialect: Dialect) {
        var server = BrainTranscript.connected { $0.dialect = dialect }
        let actions = server.signIn(1, auth: "app-key:00", #"{"id":"a"}"#)
        #expect(actions.events == [EventName.error])
        guard case .send(_, .close(4009, _)) = actions.dropFirst().first else {
            Issue.record("not closed: \(actions)")
            return
        }
    }

    @Test("soketi echoes the signature")
    func soketi() {
        var server = BrainTranscript.connected { $0.dialect = .soketi }
        let auth = server.brain.options.application.authentication(socketID: "7.1", userData: #"{"id":"a"}"#).auth
        let data = #"{"user_data":"{\"id\":\"a\"}","auth":"\#(auth)"}"#
        #expect(server.signIn(1, #"{"id":"a"}"#) == [.send(1, message("pusher:signin_success", data, isString: false))])
    }

    @Test("the option signInSuccess determines the form of the data of pusher:signin_success")
    func successAsString() {
        var server = BrainTranscript.connected { $0.dialect.users.signInSuccess = .string }
        let text = message("pusher:signin_success", #"{"user_data":"{\"id\":\"a\"}"}"#)
        #expect(server.signIn(1, #"{"id":"a"}"#) == [.send(1, text)])
    }

    @Test(
        "servers without sign-in treat pusher:signin as an unknown message",
        arguments: [Dialect.reverb, .ipe, .poxa, .slanger, .pusherFake]
    )
    func unknown(dialect: Dialect) {
        var server = BrainTranscript.connected { $0.dialect = dialect }
        let text =
            dialect == .reverb
            ? dialect.error(code: 4200, message: "Invalid message format")
            : dialect.error(code: nil, message: "Unknown event: pusher:signin")
        #expect(server.signIn(1, #"{"id":"a"}"#) == [.send(1, text)])
    }

    // MARK: The user's own channel

    @Test("only the user may subscribe to the user's own channel, and every connection gets its events")
    func userChannel() throws {
        var server = BrainTranscript.connected(3)
        let channel = "#server-to-user-a"
        #expect(server.subscribe(1, channel) == [.error(1, "Invalid channel name: \(channel)")])
        for number in 1...2 { _ = server.signIn(number, #"{"id":"a"}"#) }
        _ = server.signIn(3, #"{"id":"b"}"#)
        for number in 1...2 { #expect(server.subscribe(number, channel) == [.succeeded(number, channel)]) }
        #expect(server.subscribe(3, channel).events == [EventName.error])
        let text = message("e", "{}", channel)
        #expect(try server.publish("e", "{}", [channel]) == [.send(1, text), .send(2, text)])
        #expect(server.clientEvent(1, "client-e", "{}", channel).events == [EventName.error])
        #expect(server.unsubscribe(1, channel).isEmpty)
        #expect(try server.publish("e", "{}", [channel]) == [.send(2, text)])
    }

    @Test("terminateConnections closes the user's connections with 4009")
    func terminate() {
        var server = BrainTranscript.connected(3)
        for number in 1...2 { _ = server.signIn(number, #"{"id":7}"#) }
        let reason = "You got disconnected by the app."
        #expect(
            server.brain.terminateConnections(ofUser: "7").withoutRecords == [
                .close(1, 4009, reason), .scheduleClose(1), .close(2, 4009, reason), .scheduleClose(2),
            ]
        )
        #expect(server.brain.terminateConnections(ofUser: "7").isEmpty)
        #expect(server.brain.openConnections.map(\.socketID) == ["7.3"])
    }

    // MARK: Watchlists

    @Test("the client gets the online users after the sign-in, and then each change")
    func watchlists() {
        var server = BrainTranscript.connected(4)
        _ = server.signIn(1, #"{"id":"b"}"#)
        let watcher = #"{"id":"a","watchlist":["b","c",3]}"#
        #expect(
            server.signIn(2, watcher) == [
                .send(2, success(watcher)),
                .send(
                    2,
                    watchlist(#"{"name":"online","user_ids":["b"]},{"name":"offline","user_ids":["c","3"]}"#)
                ),
            ]
        )
        #expect(server.signIn(3, #"{"id":"b"}"#).texts(to: 2).isEmpty)
        #expect(
            server.signIn(4, #"{"id":"c"}"#).texts(to: 2) == [watchlist(#"{"name":"online","user_ids":["c"]}"#)]
        )
        #expect(server.brain.connectionEnded(id(1)).withoutRecords.isEmpty)
        #expect(
            server.brain.connectionEnded(id(3)).withoutRecords == [
                .send(2, watchlist(#"{"name":"offline","user_ids":["b"]}"#))
            ]
        )
        _ = server.brain.connectionEnded(id(2))
        #expect(server.brain.connectionEnded(id(4)).withoutRecords.isEmpty)
        #expect(server.brain.watchers.isEmpty && server.brain.users.isEmpty)
    }

    @Test("of a watchlist of more than 100 users, the first 100 count, and the client gets error 4302")
    func watchlistLimit() {
        func userData(_ count: Int) -> String {
            #"{"id":"a","watchlist":[\#((1...count).map { #""\#($0)""# }.joined(separator: ","))]}"#
        }
        var server = BrainTranscript.connected(2)
        #expect(
            server.signIn(1, userData(100)).events == ["pusher:signin_success", "pusher_internal:watchlist_events"]
        )
        let actions = server.signIn(2, userData(101))
        #expect(actions.events == ["pusher:signin_success", EventName.error, "pusher_internal:watchlist_events"])
        let texts = actions.texts(to: 2)
        #expect(texts.dropFirst().first?.contains(#""code":4302"#) == true)
        #expect(texts.last?.contains(#"\"100\"]"#) == true && texts.last?.contains("101") == false)
    }

    @Test(
        "pylon sends watchlist events as objects, and soketi sends none",
        arguments: [(Dialect.pylon, 1), (.soketi, 0)]
    )
    func watchlistDialects(dialect: Dialect, count: Int) {
        var server = BrainTranscript.connected { $0.dialect = dialect }
        let texts = server.signIn(1, #"{"id":"a","watchlist":["b"]}"#).texts(to: 1).dropFirst()
        let data = #"{"events":[{"name":"offline","user_ids":["b"]}]}"#
        let text = message("pusher_internal:watchlist_events", data, isString: false)
        #expect(texts == Array(repeating: text, count: count)[...])
    }
}
