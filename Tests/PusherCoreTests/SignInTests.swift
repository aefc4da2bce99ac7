import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

@Suite("Sign-in", .limited)
struct SignInTests {
    private let forbidden = Result<Authorization, AuthorizationError>.failure(
        AuthorizationError(.refused, "no", httpStatus: 403)
    )

    /// Returns a client that waits for the answer to its sign-in.
    private func signingIn() -> CoreClient {
        var client = CoreClient.connected()
        client.signIn()
        client.authorized(nil)
        return client
    }

    private func signedIn() -> CoreClient {
        var client = signingIn()
        client.received(.signedIn("u"))
        return client
    }

    private func reconnect(_ client: inout CoreClient) -> Transcript {
        client.closed()
        client.connect()
        return client.establish()
    }

    // MARK: The way to a user

    @Test("The client authorizes the user, signs in, and subscribes to the user's own channel")
    func steps() {
        var client = CoreClient.connected()
        #expect(client.signIn() == ["authorize the user for 1.1", "set authorization 10s"])
        let transcript = client.authorized(nil)
        #expect(transcript == ["stop authorization", "set signIn 10s", "send 1 signin"])
        #expect(transcript.sent == [.signIn(auth: "key:1.1", userData: #"{"id":"u"}"#)])
        #expect(
            client.received(.signedIn("u")) == [
                "stop signIn", "set ownChannel 10s", "send 1 subscribe #server-to-user-u", "signed in u",
            ]
        )
        // The user's own channel is not one of the app's channels, but the client expects the channel's success.
        #expect(client.received(.success("#server-to-user-u")) == ["stop ownChannel"])
        #expect(client.received(.success("#server-to-user-u")) == [])
        #expect(client.machine.subscriptions.isEmpty)
        #expect(client.signIn() == [])
        #expect(client.advance(by: .seconds(60)).told == [])
    }

    @Test("Several calls to signIn() sign in once", arguments: [0, 1, 2])
    func idempotent(stage: Int) {
        var client = CoreClient()
        if stage > 0 { client = .connected() }
        client.signIn()
        if stage > 1 { client.authorized(nil) }
        #expect(client.signIn() == [])
    }

    @Test("A sign-in waits for the connection, and the client repeats the sign-in on each later connection")
    func everyConnection() {
        var client = CoreClient()
        client.subscribe("private-a")
        #expect(client.signIn() == [])
        client.connect()
        #expect(client.establish().authorizations == ["authorize the user for 1.1", "authorize private-a for 1.1"])
        client.authorized(nil)
        client.received(.signedIn("u"))
        #expect(reconnect(&client).authorizations.words.first == "authorize the user for 2.1")
        #expect(client.machine.signIn.user == nil)
        #expect(client.authorized(nil).sent == [.signIn(auth: "key:2.1", userData: #"{"id":"u"}"#)])
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
    }

    @Test(
        "A lost connection cancels the sign-in in every phase, and the next connection repeats the sign-in",
        arguments: 0...3,
        [true, false]
    )
    func loss(stage: Int, isDisconnect: Bool) {
        var client = CoreClient.connected()
        client.signIn()
        if stage > 0 { client.authorized(nil, stage == 3 ? forbidden : nil) }
        if stage == 2 { client.received(.signedIn("u")) }
        if isDisconnect { client.disconnect() } else { client.closed() }
        #expect(client.machine.isSignInWanted)
        #expect(client.machine.signIn.phase == .idle)
        #expect(client.timer(.signIn) == nil)
        client.connect()
        // The client tries again on the next connection, even after a failure.
        #expect(client.establish().authorizations == ["authorize the user for 2.1"])
    }

    @Test("The client signs in no user without a call to signIn()")
    func unwanted() {
        var client = CoreClient.connected()
        #expect(client.received(.signedIn("u")) == [])
        #expect(client.received(Envelope(event: EventName.signInSuccess)) == [])
        #expect(client.machine.signIn.user == nil)
    }

    // MARK: The server's answers

    @Test(
        "The client accepts a success in every known form",
        arguments: [
            (#"{"user_data":"{\"id\":\"u\"}"}"#, "u"), (#"{"user_data":{"id":"u"}}"#, "u"),
            (#"{"user_data":"{\"id\":7,\"user_info\":{\"n\":1}}"}"#, "7"),
            (#"{"user_data":{"id":7},"auth":"k:s"}"#, "7"),
        ]
    )
    func shapes(data: String, id: String) {
        for payload in [Envelope.Payload.string(data), .json(data)] {
            var client = signingIn()
            let transcript = client.received(Envelope(event: EventName.signInSuccess, data: payload))
            #expect(transcript.told == ["signed in \(id)"])
            #expect(transcript.wire == ["send 1 subscribe #server-to-user-\(id)"])
        }
    }

    @Test(
        "A success without a user fails the sign-in",
        arguments: [
            "", "x", "{}", "[]", #"{"user_data":null}"#, #"{"user_data":""}"#, #"{"user_data":"x"}"#,
            #"{"user_data":{}}"#,
            #"{"user_data":"{\"id\":\"\"}"}"#, #"{"user_data":{"id":null}}"#, #"{"user_data":{"id":{}}}"#,
            #"{"user_data":{"id":true}}"#, #"{"user_data":["id"]}"#,
        ]
    )
    func namesNobody(data: String) {
        var client = signingIn()
        let envelope = Envelope(event: EventName.signInSuccess, data: .string(data))
        #expect(client.received(envelope) == ["stop signIn", "sign-in signInFailed"])
        #expect(client.received(envelope) == ["report malformedMessage"])
    }

    @Test("The client ignores a second success")
    func secondSuccess() {
        var client = signedIn()
        #expect(client.received(.signedIn("other")) == [])
        #expect(client.machine.signIn.user?.id == "u")
    }

    @Test(
        "The client does not send an unusable authorization",
        arguments: [
            Authorization(auth: "", data: #"{"id":"u"}"#), Authorization(auth: "k"), Authorization(auth: "k", data: ""),
            Authorization(auth: "k", data: "{}"), Authorization(auth: "k", data: #"{"id":""}"#),
            Authorization(auth: "k", data: "[1]"),
            Authorization(auth: String(repeating: "k", count: 1_025), data: #"{"id":"u"}"#),
        ]
    )
    func unusable(authorization: Authorization) {
        var client = CoreClient.connected()
        client.signIn()
        let transcript = client.authorized(nil, .success(authorization))
        #expect(transcript == ["stop authorization", "sign-in signInFailed"])
    }

    // MARK: Failures

    @Test("A sign-in without an answer fails if the policy stops the client, but a late answer still counts")
    func timeout() {
        var client = signingIn()
        client.awaitSignIn()
        client.advance(by: .milliseconds(9_999))
        #expect(client.advance(by: .milliseconds(1)) == ["ask retry 0"])
        #expect(client.decide(nil) == ["sign-in signInTimedOut", "resume 1 failed signInTimedOut"])
        let transcript = client.received(.signedIn("u"))
        #expect(transcript == ["set ownChannel 10s", "send 1 subscribe #server-to-user-u", "signed in u"])
    }

    @Test("A late success cancels the authorization of a repeated sign-in", arguments: [true, false])
    func lateSuccess(isSent: Bool) {
        var client = signingIn()
        client.advance(by: .seconds(10))
        client.decide(.seconds(1))
        client.advance(by: .seconds(1))
        if isSent { client.authorized(nil) }
        let transcript = client.received(.signedIn("u"))
        #expect(transcript.told == ["signed in u"])
        #expect(transcript.authorizations == (isSent ? [] : ["forget the authorization"]))
        #expect(client.timer(.signIn) == nil && client.timer(.authorization) == nil)
    }

    @Test("A refusal by the backend fails the sign-in, and signIn() tries again")
    func refusedByBackend() {
        var client = CoreClient.connected()
        client.awaitSignIn()
        let transcript = client.authorized(nil, forbidden)
        #expect(transcript.acts == ["sign-in signInFailed", "resume 1 failed signInFailed"])
        guard case .signInFailed(_, let event)? = transcript.effects.dropFirst().first else {
            Issue.record("\(transcript)")
            return
        }
        #expect(event.event == EventName.signInError)
        #expect(event.data.value == ["type": "AuthError", "error": "no", "status": 403])
        #expect(client.signIn().authorizations == ["authorize the user for 1.1"])
        #expect(client.authorized(nil).wire == ["send 1 signin"])
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
    }

    @Test("If the backend is busy, the client tries the sign-in again, like the authorization of a channel")
    func busyBackend() {
        var client = CoreClient.connected()
        client.signIn()
        let error = AuthorizationError(.requestFailed, "busy", recovery: .retry(after: .seconds(2)))
        #expect(client.authorized(nil, .failure(error)).changes == ["ask retry 0 at least 2s"])
        #expect(client.decide(.zero) == ["set nextTry 2s", "sign-in signInFailed"])
        #expect(client.advance(by: .seconds(2)).authorizations == ["authorize the user for 1.1"])
        #expect(client.authorized(nil).wire == ["send 1 signin"])
    }

    // MARK: Waiting calls

    @Test("Waiting calls get the outcome of the sign-in, even across losses")
    func waiters() {
        var client = CoreClient()
        #expect(client.awaitSignIn() == [])
        client.connect()
        client.establish()
        client.awaitSignIn()
        #expect(reconnect(&client).outcomes == [])
        client.awaitSignIn()
        #expect(client.cancelWait(2) == ["resume 2 cancelled"])
        client.authorized(nil)
        #expect(client.received(.signedIn("u")).outcomes == [])
        #expect(
            client.received(.success("#server-to-user-u")) == ["stop ownChannel", "resume 1 done", "resume 3 done"]
        )
        #expect(client.awaitSignIn() == ["resume 4 done"])
        client.closed()
        #expect(client.awaitSignIn() == [])
    }

    @Test("A call that waits for the sign-in fails if there will be no connection", arguments: [true, false])
    func noConnection(isBefore: Bool) {
        var client = CoreClient.connected()
        if isBefore { client.awaitSignIn() }
        let transcript = client.closed(code: 4001)
        let outcomes = isBefore ? transcript.outcomes : client.awaitSignIn().outcomes
        #expect(outcomes == ["resume 1 failed connectionRefused"])
    }

    @Test("Releasing the client cancels the sign-in, and calls that wait for the sign-in fail")
    func release() {
        var client = CoreClient.connected()
        client.awaitSignIn()
        #expect(client.release().outcomes == ["resume 1 failed disconnected"])
        #expect(!client.machine.isSignInWanted)
    }

    // MARK: Presence channels

    private let presence = "presence-a"

    /// An authorization without user data.
    private var anonymous: Result<Authorization, AuthorizationError> {
        .success(Authorization(auth: "key:1.1/\(presence)"))
    }

    @Test("A presence channel without channel_data waits for the sign-in, and is subscribed as the user")
    func presenceWaits() {
        var client = CoreClient.connected()
        client.signIn()
        client.subscribe(presence)
        #expect(client.authorized(presence, anonymous).acts == [])
        client.authorized(nil)
        let transcript = client.received(.signedIn("u"))
        #expect(transcript.wire == ["send 1 subscribe #server-to-user-u", "send 1 subscribe presence-a"])
        #expect(transcript.sent.last?.data.value?["channel_data"] == nil)
        #expect(client.machine.subscriptions[presence]?.roster?.myID == "u")
    }

    @Test("A presence channel without channel_data does not wait if the user is signed in")
    func presenceOfUser() {
        var client = signedIn()
        client.subscribe(presence)
        #expect(client.authorized(presence, anonymous).wire == ["send 1 subscribe presence-a"])
        #expect(client.machine.subscriptions[presence]?.roster?.myID == "u")
    }

    @Test("A presence channel without channel_data fails without a successful sign-in", arguments: [true, false])
    func presenceFails(isSignInFailing: Bool) {
        var client = CoreClient.connected()
        if isSignInFailing { client.signIn() }
        client.subscribe(presence)
        let answer = client.authorized(presence, anonymous)
        let transcript = isSignInFailing ? client.authorized(nil, forbidden) : answer
        #expect(transcript.told.last == "failed presence-a invalidAuthorization")
        #expect(transcript.wire == [])
    }

    @Test("The sign-in subscribes waiting channels in the order of the calls, except unsubscribed channels")
    func presenceOrder() {
        var client = CoreClient.connected()
        client.signIn()
        for name in ["presence-c", "presence-a", "presence-b"] {
            client.subscribe(name)
            client.authorized(name, .success(Authorization(auth: "key:1.1/\(name)")))
        }
        client.unsubscribe("presence-a")
        client.authorized(nil)
        #expect(
            client.received(.signedIn("u")).wire == [
                "send 1 subscribe #server-to-user-u", "send 1 subscribe presence-c", "send 1 subscribe presence-b",
            ]
        )
    }
}
