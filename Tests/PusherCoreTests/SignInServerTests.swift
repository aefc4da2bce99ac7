import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests of protocol clause 9. The server refuses a sign-in with an error that does not name the sign-in.
@Suite("Sign-in: refusals, the user's events, the watchlist", .limited)
struct SignInServerTests {
    /// Returns a client that waits for the answers to its sign-in and its subscriptions.
    private func signingIn(pending: [String] = []) -> CoreClient {
        var client = CoreClient.connected()
        client.signIn()
        client.authorized(nil)
        for name in pending {
            client.subscribe(name)
            client.authorized(name)
        }
        return client
    }

    private func signedIn() -> CoreClient {
        var client = signingIn()
        client.received(.signedIn("u"))
        return client
    }

    // MARK: Signing out and in

    private func authorization(of user: String) -> Result<Authorization, AuthorizationError> {
        .success(Authorization(auth: "key:1.1", data: #"{"id":"\#(user)"}"#))
    }

    @Test(
        "A late answer does not sign in a previous user, and the client still signs in the wanted user",
        arguments: [true, false]
    )
    func anotherUser(isSent: Bool) {
        var client = signingIn()
        client.signOut()
        client.signIn()
        if isSent { client.authorized(nil, authorization(of: "other")) }
        #expect(client.received(.signedIn("u")) == [])
        #expect(client.machine.signIn.isUnderWay)
        if !isSent { client.authorized(nil, authorization(of: "other")) }
        #expect(client.received(.signedIn("other")).told == ["signed in other"])
    }

    @Test("The first answer completes the sign-in of a user who signed out and in again")
    func sameUser() {
        var client = signingIn()
        client.signOut()
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
        #expect(client.received(.signedIn("u")) == [])
    }

    @Test(
        "The next call subscribes the user's own channel again after a refusal, and no other channel fails",
        arguments: [
            Envelope.refusal("#server-to-user-u"), .error(nil, "Invalid channel name: #server-to-user-u."),
            .error(4009, "#server-to-user-u"),
        ]
    )
    func ownChannelRefusedAnyhow(refusal: Envelope) {
        var client = signedIn()
        client.subscribe("a")
        #expect(client.received(refusal).told.words.count == 1)
        #expect(client.machine.subscriptions["a"]?.isPending == true)
        #expect(client.signIn().wire == ["send 1 subscribe #server-to-user-u"])
        #expect(client.signIn() == [])
    }

    @Test("The next sign-in requests the user's own channel again after a refusal")
    func ownChannelRefused() {
        var client = signedIn()
        client.received(.refusal("#server-to-user-u"))
        client.signOut()
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).wire == ["send 1 subscribe #server-to-user-u"])
    }

    @Test("The client reports a missing answer about the user's own channel, and subscribes again")
    func ownChannelUnanswered() {
        var client = signedIn()
        #expect(client.advance(by: .milliseconds(9_999)).told == [])
        client.advance(by: .milliseconds(1))
        #expect(client.decide(.seconds(1)).told == ["report subscriptionTimedOut of #server-to-user-u"])
        #expect(client.received(.message("#server-to-user-u")) == ["user message"])
        let again = ["set ownChannel 10s", "send 1 subscribe #server-to-user-u"]
        #expect(client.advance(by: .seconds(1)).words == again)
        client.advance(by: .seconds(10))
        #expect(client.decide(.seconds(2)).told == [])
        #expect(client.advance(by: .seconds(2)).words == again)
        // The error means that the requested subscription exists.
        let refusal = Envelope.error(nil, "Existing subscription to channel #server-to-user-u")
        #expect(client.received(refusal) == ["stop ownChannel"])
        #expect(client.received(refusal).told == ["report serverError"])
        #expect(client.signIn() == [])
    }

    @Test(
        "A late answer about another channel does not end the retries of the user's own channel",
        arguments: [Envelope.refusal("private-x"), .success("#server-to-user-u")]
    )
    func ownChannelAmongOthers(answer: Envelope) {
        var client = signedIn()
        client.signOut()
        client.signIn()
        client.authorized(nil, authorization(of: "other"))
        client.received(.signedIn("other"))
        client.advance(by: .seconds(10))
        client.decide(.seconds(1))
        client.received(answer)
        #expect(client.advance(by: .seconds(1)).wire == ["send 1 subscribe #server-to-user-other"])
    }

    @Test("The client reports no failure of a signed-out user's own channel")
    func ownChannelGivenUp() {
        var client = signedIn()
        client.signOut()
        #expect(client.advance(by: .seconds(10)).told == [])
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).wire == ["send 1 subscribe #server-to-user-u"])
        client.signOut()
        client.signIn()
        client.authorized(nil, authorization(of: "other"))
        let transcript = client.received(.signedIn("other"))
        #expect(transcript.wire == ["send 1 subscribe #server-to-user-other"])
        // The client no longer waits for the previous user's own channel, but still records the answer.
        #expect(client.received(.success("#server-to-user-u")) == [])
        #expect(client.received(.success("#server-to-user-other")) == ["stop ownChannel"])
        client.signOut()
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).wire == [])
    }

    @Test("A late answer subscribes the user's own channel, and a late refusal fails no other channel")
    func ownChannelAnsweredLate() {
        var client = signedIn()
        client.advance(by: .seconds(10))
        #expect(client.received(.success("#server-to-user-u")) == [])
        #expect(client.signIn() == [])
        client = signedIn()
        client.advance(by: .seconds(10))
        client.subscribe("a")
        let refusal = Envelope.error(nil, "Invalid channel name: #server-to-user-u.")
        #expect(client.received(refusal).told == ["report serverError"])
        #expect(client.machine.subscriptions["a"]?.isPending == true)
        #expect(client.signIn().wire == ["send 1 subscribe #server-to-user-u"])
    }

    @Test("A refusal without a name belongs to the user's own channel only if nothing else is pending")
    func ownChannelRefusedNamelessly() {
        var client = signedIn()
        let refusal = Envelope.error(4009, "Connection is unauthorized")
        #expect(client.received(refusal) == ["report serverError 4009", "stop ownChannel"])
        client.signIn()
        #expect(client.received(.error(nil, "Sign in refused")) == ["report serverError"])
        client.subscribe("a")
        #expect(client.received(refusal).acts == ["report serverError 4009"])
        #expect(client.machine.subscriptions["a"]?.isPending == true)
        #expect(client.machine.signIn.awaitedOwnChannel != nil)
    }

    @Test("A refusal of the user's own channel does not fail the next sign-in")
    func ownChannelRefusedWhileSigningIn() {
        var client = signedIn()
        client.signOut()
        client.signIn()
        client.authorized(nil)
        let refusal = Envelope.error(nil, "Invalid channel name: #server-to-user-u.")
        #expect(client.received(refusal) == ["stop ownChannel", "report serverError"])
        #expect(client.machine.signIn.isAwaitingServer)
        #expect(client.received(.signedIn("u")).wire == ["send 1 subscribe #server-to-user-u"])
    }

    @Test("A channel with the name of the user's own channel, but without the #, is a separate channel")
    func channelLikeOwn() {
        var client = signedIn()
        client.subscribe("server-to-user-u")
        client.subscribe("a")
        let refusal = Envelope.error(nil, "Invalid channel name: server-to-user-u.")
        #expect(client.received(refusal).acts.words.contains { $0.contains("failed server-to-user-u") })
        #expect(client.machine.signIn.awaitedOwnChannel != nil)
    }

    // MARK: Waiting for the user's own channel

    enum OwnChannelEnd: CaseIterable { case subscribed, refused, refusedNamelessly, existing, unanswered }

    @Test(
        "signedIn() waits until the server answers about the user's own channel, or until the timeout",
        arguments: OwnChannelEnd.allCases
    )
    func ownChannelAwaited(end: OwnChannelEnd) {
        var client = signingIn()
        client.awaitSignIn()
        let signedIn = client.received(.signedIn("u"))
        #expect(signedIn.told == ["signed in u"])
        #expect(signedIn.outcomes == [])
        // Calls during the wait have to wait, too.
        #expect(client.awaitSignIn() == [])
        #expect(client.advance(by: .milliseconds(9_999)).outcomes == [])
        let transcript =
            switch end {
            case .subscribed: client.received(.success("#server-to-user-u"))
            case .refused: client.received(.refusal("#server-to-user-u"))
            case .refusedNamelessly: client.received(.error(4009, "Connection is unauthorized"))
            case .existing: client.received(.error(nil, "Existing subscription to channel #server-to-user-u"))
            case .unanswered: client.advance(by: .milliseconds(1))
            }
        #expect(transcript.outcomes == ["resume 1 done", "resume 2 done"])
        #expect(client.machine.signIn.user?.id == "u")
    }

    @Test("signedIn() waits for the user's own channel even across a loss, and fails after signOut()")
    func ownChannelAwaitedOverLoss() {
        var client = signingIn()
        client.awaitSignIn()
        client.received(.signedIn("u"))
        #expect(client.closed().outcomes == [])
        client.connect()
        client.establish()
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).outcomes == [])
        #expect(client.signOut().outcomes == ["resume 1 failed signInFailed"])
        #expect(client.received(.success("#server-to-user-u")).outcomes == [])
    }

    @Test("signedIn() subscribes the user's own channel again after a refusal, and waits for the answer")
    func ownChannelAskedForAgain() {
        var client = signedIn()
        client.received(.refusal("#server-to-user-u"))
        #expect(client.awaitSignIn() == ["set ownChannel 10s", "send 1 subscribe #server-to-user-u"])
        #expect(client.received(.refusal("#server-to-user-u")).outcomes == ["resume 1 done"])
    }

    // MARK: Refusals

    @Test(
        "An error that can be a refusal fails the sign-in if nothing else is pending",
        arguments: [nil, 4009, 4200, 4301, 4302, 4100, 4001]
    )
    func refusedAlone(code: Int?) {
        var client = signingIn()
        let words = code.map { " \($0)" } ?? ""
        let isRefusal = code == nil || code == 4009
        #expect(
            client.received(.error(code, "bad")).told
                == (isRefusal ? ["sign-in signInFailed\(words)"] : ["report serverError\(words)"])
        )
        #expect(client.machine.signIn.isAwaitingServer == !isRefusal)
    }

    @Test(
        "Only an error about the sign-in fails the sign-in if a subscription is pending",
        arguments: [
            (nil, "Invalid signature: Expected HMAC SHA256 hex digest of 1.1::user::{}, but got x", true),
            (nil, "Invalid user_data", true), (4009, "Sign in refused", true),
            (4200, "Unknown event pusher:signin", true),
            (nil, "bad", false), (4009, "Connection is unauthorized", false), (4301, "no sign-in", false),
            (4302, "too many of user_data", false),
        ] as [(Int?, String, Bool)]
    )
    func refusedAmongOthers(code: Int?, message: String, isRefusal: Bool) {
        var client = signingIn(pending: ["a"])
        let transcript = client.received(.error(code, message))
        #expect(transcript.told.words.contains { $0.hasPrefix("sign-in signInFailed") } == isRefusal)
        // The error could belong to several requests, so the client attributes the error to none of them. The requests
        // fail only at their timeouts.
        #expect(client.phase(of: "a") == "subscribing")
    }

    @Test("An error that names a pending channel belongs to the channel, even if its name is \"signin\"")
    func channelCalledSignIn() {
        var client = signingIn(pending: ["private-signin"])
        #expect(
            client.received(.error(nil, "Auth info required to subscribe to private-signin")).told == [
                "report serverError of private-signin", "failed private-signin subscriptionRefused",
            ]
        )
        #expect(client.machine.signIn.isAwaitingServer)
    }

    @Test("The signed user data may contain the name of a pending channel")
    func userDataNamesChannel() {
        var client = signingIn(pending: ["a"])
        let message = "Invalid signature: Expected HMAC SHA256 hex digest of 1.1::user::[a], but got x"
        #expect(client.received(.error(nil, message)).told == ["sign-in signInFailed"])
        #expect(client.phase(of: "a") == "subscribing")
    }

    @Test("An error about a channel or about a missing subscription does not fail the sign-in")
    func otherErrors() {
        var client = signingIn()
        #expect(client.received(.error(nil, "bad", channel: "a")).told == ["report serverError of a"])
        #expect(client.received(.error(nil, "No current subscription to channel a")).told == ["report serverError"])
        #expect(client.machine.signIn.isAwaitingServer)
    }

    @Test("The client stops after close code 4009 in answer to a sign-in, and waiting calls fail")
    func refusedByClose() {
        var client = signingIn()
        client.awaitSignIn()
        let transcript = client.closed(code: 4009)
        #expect(transcript.told == ["report connectionClosed 4009"])
        #expect(transcript.outcomes == ["resume 1 failed connectionRefused"])
        #expect(client.advance(by: .seconds(3_600)) == [])
        // The app may sign in again, with another user.
        client.connect()
        #expect(client.establish().authorizations == ["authorize the user for 2.1"])
    }

    @Test("The client reports a refusal by error and close once (soketi)")
    func refusedTwice() {
        var client = signingIn()
        #expect(client.received(.error(4009, "no")).told == ["sign-in signInFailed 4009"])
        #expect(client.closed(code: 4009).told == [])
    }

    // MARK: The user's events

    @Test("The client delivers the user's events only from the user's own channel")
    func userEvents() {
        var client = signedIn()
        #expect(client.received(.message("#server-to-user-u")) == ["user message"])
        for name in ["#server-to-user-v", "#server-to-user-", "#server-to-user-uu", "u", "#u"] {
            #expect(client.received(.message(name)) == [])
        }
        #expect(client.received(Envelope(event: "pusher:new", channel: "#server-to-user-u")) == [])
        #expect(client.received(Envelope(event: "pusher_internal:new", channel: "#server-to-user-u")) == [])
        client.closed()
        client.connect()
        client.establish()
        // The client delivers no event before the user has signed in again.
        #expect(client.received(.message("#server-to-user-u")) == [])
    }

    @Test("The app cannot subscribe to the user's own channel")
    func userChannel() throws {
        var client = signedIn()
        #expect(client.subscribe("#server-to-user-u").told == ["failed #server-to-user-u invalidChannelName"])
        #expect(client.received(.success("#server-to-user-u")) == ["stop ownChannel"])
        // The invalid channel gets none of the user's events.
        #expect(client.received(.message("#server-to-user-u")) == ["user message"])
        let attempt = try #require(client.machine.connection.currentAttempt)
        #expect(client.machine.recipient(ofEvent: "message", on: "#server-to-user-u", attempt) == nil)
        #expect(client.unsubscribe("#server-to-user-u").wire == [])
        #expect(client.received(.message("#server-to-user-u")) == ["user message"])
        // The client sends no unsubscribe after a success for another user's own channel.
        client.closed()
        client.connect()
        client.establish()
        #expect(client.received(.success("#server-to-user-v")) == [])
    }

    // MARK: The watchlist

    private func watchlist(_ events: String) -> Envelope {
        Envelope(event: EventName.watchlistEvents, data: .string(#"{"events":\#(events)}"#))
    }

    @Test("The watchlist contains the latest status of each user")
    func online() {
        var client = signedIn()
        #expect(
            client.received(
                watchlist(#"[{"name":"online","user_ids":["a","b",3]},{"name":"offline","user_ids":["c"]}]"#)
            ) == ["online a b 3", "offline c"]
        )
        #expect(client.machine.signIn.online == Set(["a", "b", "3"].map(WireText.init)))
        #expect(client.received(watchlist(#"[{"name":"offline","user_ids":["b","x"],"more":1}]"#)) == ["offline b x"])
        #expect(client.machine.signIn.online == Set(["a", "3"].map(WireText.init)))
        // The client reports unknown kinds of changes, but they do not change the watchlist.
        #expect(client.received(watchlist(#"[{"name":"subscribe","user_ids":["z"]}]"#)) == ["subscribe z"])
        #expect(client.machine.signIn.online == Set(["a", "3"].map(WireText.init)))
        client.closed()
        #expect(client.machine.signIn.online == Set([].map(WireText.init)))
    }

    @Test("The client reports unusable entries once for each message, and uses the other entries")
    func malformedEntries() {
        var client = signedIn()
        let entries = [
            #"{"name":"online"}"#, #"{"user_ids":["a"]}"#, "3", "null", #"{"name":1,"user_ids":[]}"#,
            #"{"name":"online","user_ids":"a"}"#,
        ]
        for entry in entries {
            #expect(client.received(watchlist("[\(entry)]")) == ["report malformedMessage"], "\(entry)")
        }
        #expect(client.received(watchlist("[\(entries.joined(separator: ","))]")) == ["report malformedMessage"])
        let mixed = #"[null,{"name":"online","user_ids":["a",null,{},["b"],true]}]"#
        #expect(client.received(watchlist(mixed)) == ["report malformedMessage", "online a"])
        #expect(client.received(watchlist("[]")) == [])
    }

    @Test(
        "The client reports a watchlist message without a list",
        arguments: ["", "x", "{}", "[]", #"{"events":{}}"#, #"{"events":null}"#]
    )
    func malformed(data: String) {
        var client = signedIn()
        let envelope = Envelope(event: EventName.watchlistEvents, data: .string(data))
        #expect(client.received(envelope) == ["report malformedMessage"])
    }

    @Test("There is no watchlist without a user")
    func notSignedIn() {
        var client = signingIn()
        #expect(client.received(watchlist(#"[{"name":"online","user_ids":["a"]}]"#)) == [])
        #expect(client.received(watchlist("3")) == [])
    }
}
