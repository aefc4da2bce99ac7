import PusherClient
import PusherProtocol
import Testing

/// Protocol clause 9: the server rejects a sign-in with an error that does not name it.
@Suite("Sign-in: rejections, the user's events, the watchlist")
struct SignInServerTests {
    /// The sign-in was sent and has no answer yet, and neither have the subscriptions.
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
        "A late answer never signs in a previous user, and the wanted user still gets signed in",
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

    @Test("Signing out and in again as the same user ends with the first answer to the second sign-in")
    func sameUser() {
        var client = signingIn()
        client.signOut()
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
        #expect(client.received(.signedIn("u")) == [])
    }

    @Test(
        "A rejected own channel is requested by the next call, and no other channel fails",
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

    @Test("The user's own channel is requested again by the next sign-in if it was rejected")
    func ownChannelRefused() {
        var client = signedIn()
        client.received(.refusal("#server-to-user-u"))
        client.signOut()
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).wire == ["send 1 subscribe #server-to-user-u"])
    }

    @Test("An own channel without an answer is reported, and requested by the next call")
    func ownChannelUnanswered() {
        var client = signedIn()
        #expect(client.advance(by: .milliseconds(9_999)).told == [])
        #expect(client.advance(by: .milliseconds(1)).told == ["report subscriptionTimedOut of #server-to-user-u"])
        #expect(client.received(.message("#server-to-user-u")) == ["user message"])
        #expect(client.signIn() == ["set ownChannel 10s", "send 1 subscribe #server-to-user-u"])
        // The subscription exists already, as requested.
        let refusal = Envelope.error(nil, "Existing subscription to channel #server-to-user-u")
        #expect(client.received(refusal) == ["stop ownChannel"])
        #expect(client.received(refusal).told == ["report serverError"])
        #expect(client.signIn() == [])
    }

    @Test("The own channel of a signed-out user is not reported, and the next sign-in requests it")
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
        // The client no longer waits for the sign-in of the previous user. Its outcome is still known.
        #expect(client.received(.success("#server-to-user-u")) == [])
        #expect(client.received(.success("#server-to-user-other")) == ["stop ownChannel"])
        client.signOut()
        client.signIn()
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).wire == [])
    }

    @Test("An own channel with a late answer is subscribed, and a late rejection fails no other channel")
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

    @Test("A rejection without a name belongs to the user's own channel only if nothing else is pending")
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

    @Test("A rejection of the own channel does not belong to the next sign-in")
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

    @Test("A channel whose name differs from the own channel's only in the sign is another one")
    func channelLikeOwn() {
        var client = signedIn()
        client.subscribe("server-to-user-u")
        client.subscribe("a")
        let refusal = Envelope.error(nil, "Invalid channel name: server-to-user-u.")
        #expect(client.received(refusal).acts.words.contains { $0.contains("failed server-to-user-u") })
        #expect(client.machine.signIn.awaitedOwnChannel != nil)
    }

    // MARK: Waiting for the own channel

    enum OwnChannelEnd: CaseIterable { case subscribed, refused, refusedNamelessly, existing, unanswered }

    @Test(
        "signedIn() waits until the subscription to the user's own channel is answered or times out",
        arguments: OwnChannelEnd.allCases
    )
    func ownChannelAwaited(end: OwnChannelEnd) {
        var client = signingIn()
        client.awaitSignIn()
        let signedIn = client.received(.signedIn("u"))
        #expect(signedIn.told == ["signed in u"])
        #expect(signedIn.outcomes == [])
        // Calls during that time wait too.
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

    @Test("signedIn() keeps waiting for the own channel across a loss, and ends with signOut()")
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

    @Test("signedIn() requests a rejected own channel again, and waits for the answer")
    func ownChannelAskedForAgain() {
        var client = signedIn()
        client.received(.refusal("#server-to-user-u"))
        #expect(client.awaitSignIn() == ["set ownChannel 10s", "send 1 subscribe #server-to-user-u"])
        #expect(client.received(.refusal("#server-to-user-u")).outcomes == ["resume 1 done"])
    }

    // MARK: Refusals

    @Test(
        "If nothing else is pending, an error that can be a rejection is one",
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
        "If a subscription is pending, only an error about the sign-in is its rejection",
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
        // The error could belong to several requests, so the client attributes it to none. Only the timeouts are left.
        #expect(client.phase(of: "a") == "subscribing")
    }

    @Test("An error that names a pending channel belongs to it, even if its name is \"signin\"")
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

    @Test("An error that names a channel, or is about an ended subscription, does not belong to the sign-in")
    func otherErrors() {
        var client = signingIn()
        #expect(client.received(.error(nil, "bad", channel: "a")).told == ["report serverError of a"])
        #expect(client.received(.error(nil, "No current subscription to channel a")).told == ["report serverError"])
        #expect(client.machine.signIn.isAwaitingServer)
    }

    @Test("A server that rejects by closing with 4009 is not tried again, and waiting calls fail")
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

    @Test("A rejection by error and close is reported once (soketi)")
    func refusedTwice() {
        var client = signingIn()
        #expect(client.received(.error(4009, "no")).told == ["sign-in signInFailed 4009"])
        #expect(client.closed(code: 4009).told == [])
    }

    // MARK: The user's events

    @Test("The user's events come from the user's own channel only")
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
        // Not before the user has signed in again.
        #expect(client.received(.message("#server-to-user-u")) == [])
    }

    @Test("The app cannot subscribe to the user's channel, and no other success ends it")
    func userChannel() throws {
        var client = signedIn()
        #expect(client.subscribe("#server-to-user-u").told == ["failed #server-to-user-u invalidChannelName"])
        #expect(client.received(.success("#server-to-user-u")) == ["stop ownChannel"])
        // The rejected channel gets none of the user's events.
        #expect(client.received(.message("#server-to-user-u")) == ["user message"])
        let attempt = try #require(client.machine.connection.currentAttempt)
        #expect(client.machine.recipient(ofEvent: "message", on: "#server-to-user-u", attempt) == nil)
        #expect(client.unsubscribe("#server-to-user-u").wire == [])
        #expect(client.received(.message("#server-to-user-u")) == ["user message"])
        // The client does not answer a sign-in that is out of date either.
        client.closed()
        client.connect()
        client.establish()
        #expect(client.received(.success("#server-to-user-v")) == [])
    }

    // MARK: The watchlist

    private func watchlist(_ events: String) -> Envelope {
        Envelope(event: EventName.watchlistEvents, data: .string(#"{"events":\#(events)}"#))
    }

    @Test("The watchlist has the server's latest status of each user")
    func online() {
        var client = signedIn()
        #expect(
            client.received(
                watchlist(#"[{"name":"online","user_ids":["a","b",3]},{"name":"offline","user_ids":["c"]}]"#)
            ) == ["online a b 3", "offline c"]
        )
        #expect(client.machine.signIn.online == ["a", "b", "3"])
        #expect(client.received(watchlist(#"[{"name":"offline","user_ids":["b","x"],"more":1}]"#)) == ["offline b x"])
        #expect(client.machine.signIn.online == ["a", "3"])
        // Other answers go to the request that named the channel.
        #expect(client.received(watchlist(#"[{"name":"subscribe","user_ids":["z"]}]"#)) == ["subscribe z"])
        #expect(client.machine.signIn.online == ["a", "3"])
        client.closed()
        #expect(client.machine.signIn.online == [])
    }

    @Test("An unusable entry is reported once for each message, and affects no other entry")
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
        "A message without a list is reported",
        arguments: ["", "x", "{}", "[]", #"{"events":{}}"#, #"{"events":null}"#]
    )
    func malformed(data: String) {
        var client = signedIn()
        let envelope = Envelope(event: EventName.watchlistEvents, data: .string(data))
        #expect(client.received(envelope) == ["report malformedMessage"])
    }

    @Test("Without a user there is no watchlist")
    func notSignedIn() {
        var client = signingIn()
        #expect(client.received(watchlist(#"[{"name":"online","user_ids":["a"]}]"#)) == [])
        #expect(client.received(watchlist("3")) == [])
    }
}
