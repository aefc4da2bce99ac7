import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Defects of other clients in authorizations, and in features that need them. Each test shows that this client does
/// not have such a defect.
@Suite("Defects of other clients, in the core: channels that must be authorized", .limited)
struct AuthorizationDefectTests {
    private let forbidden = Result<Authorization, AuthorizationError>.failure(AuthorizationError(.refused, "no"))

    private func reconnect(_ client: inout CoreClient) -> Transcript {
        client.closed()
        client.connect()
        return client.establish()
    }

    @Test("The client does not send a signature for an old connection on the new one (pusher-js, PusherSwift #397)")
    func staleSignature() throws {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        let (id, question) = try #require(client.ledger.authorizations.first)
        #expect(reconnect(&client).authorizations == ["authorize private-a for 2.1"])
        #expect(client.answer(id, .success(.good(question))) == [])
        let sent = client.authorized("private-a").sent
        #expect(sent.map { $0.data.value?["auth"] } == ["key:2.1/private-a"])
    }

    @Test("A channel that was unsubscribed during its authorization stays unsubscribed (pusher-js, PusherSwift #433)")
    func resurrected() throws {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        let (id, question) = try #require(client.ledger.authorizations.first)
        client.unsubscribe("private-a")
        #expect(client.answer(id, .success(.good(question))) == [])
        let transcript = reconnect(&client)
        #expect(transcript.authorizations == [] && transcript.wire == [])
    }

    @Test("A channel whose authorization failed can be unsubscribed (PusherSwift #433)")
    func failedStaysAway() {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        client.authorized("private-a", forbidden)
        #expect(client.unsubscribe("private-a") == ["retired private-a"])
        #expect(reconnect(&client).authorizations == [])
    }

    @Test("A reconnect neither duplicates members nor keeps members who have left (PusherSwift #370)")
    func duplicatesAndGhosts() {
        let name = "presence-a"
        var client = CoreClient.subscribed(name, .members(name, ["1", "2", "3"]))
        _ = reconnect(&client)
        #expect(client.members(of: name) == [])
        client.authorized(name)
        client.received(.members(name, ["1", "3", "4"]))
        client.received(.memberAdded(name, "\"4\""))
        #expect(client.members(of: name) == ["1", "3", "4"])
    }

    @Test(
        "A member without a user_id does not crash the client (PusherSwift)",
        arguments: ["{}", #"{"user_info":{"n":1}}"#, #"{"user_id":null}"#, "[]", "x"]
    )
    func missingUserID(data: String) {
        let name = "presence-a"
        var client = CoreClient.subscribed(name, .members(name, ["1"]))
        for event in [EventName.memberAddedInternal, EventName.memberRemovedInternal] {
            let envelope = Envelope(event: event, channel: name, data: .string(data))
            #expect(client.received(envelope).told == ["report malformedMessage of presence-a"])
        }
        #expect(client.members(of: name) == ["1"])
    }

    @Test("An authorizer that hangs during a key refresh delays only its own channel (PusherSwift)", .needsSodium)
    func hangingAuthorizer() throws {
        let name = "private-encrypted-a"
        var client = CoreClient.subscribed(name)
        client.subscribe("orders")
        client.received(.success("orders"))
        _ = try client.received(TestKey.second.message("1", on: name))
        #expect(try client.received(TestKey.first.message("2", on: name)) == [])
        #expect(client.received(.message("orders")) == ["deliver orders message"])
        #expect(client.received(.message(nil)) == ["deliver - message"])
        #expect(client.received(.ping).wire == ["send 1 pong"])
        client.advance(by: .seconds(10))
        #expect(
            client.decide(nil).told == [
                "unreadable private-encrypted-a message decryptionFailed", "deliver private-encrypted-a message",
            ]
        )
    }

    @Test("A refresh of the key does not change the order of encrypted events (pusher-js)", .needsSodium)
    func reordered() throws {
        let name = "private-encrypted-a"
        var client = CoreClient.subscribed(name)
        #expect(try client.received(TestKey.second.message("1", on: name, event: "e1")).told == [])
        // The known key decrypts `e2`, but the client still delivers `e2` after `e1`.
        #expect(try client.received(TestKey.first.message("2", on: name, event: "e2")).told == [])
        let good = Authorization(auth: "key:1.1/\(name)", sharedSecret: TestKey.second.base64)
        #expect(client.authorized(name, .success(good)).told.words.first == "deliver private-encrypted-a e1")
    }

    @Test("The client uses a PusherAuth for one connection, and reports an error on the next connection (PusherSwift)")
    func manualAuthorization() {
        var client = CoreClient.connected()
        let auth = Authorization.good(AuthorizationQuestion(.channel("private-a"), socketID: "1.1"))
        #expect(client.subscribe("private-a", auth: auth).wire == ["send 1 subscribe private-a"])
        client.received(.success("private-a"))
        #expect(reconnect(&client).authorizations == ["authorize private-a for 2.1"])
        let transcript = client.authorized("private-a", .failure(AuthorizationError(.noMethod, "no method")))
        #expect(transcript.told == ["failed private-a authorizationFailed"])
        guard case .subscriptionFailed(_, let error, _)? = transcript.effects.last else {
            Issue.record("\(transcript)")
            return
        }
        #expect(error.message.contains("earlier connection") && error.message.contains("authMethod"))
        // Another `subscribe` creates a new channel.
        let next = Authorization.good(AuthorizationQuestion(.channel("private-a"), socketID: "2.1"))
        #expect(client.subscribe("private-a", auth: next).wire == ["send 2 subscribe private-a"])
    }

    @Test("The client does not use a PusherAuth for an old connection on the new one (PusherSwift)")
    func staleManualAuthorization() {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        let auth = Authorization.good(AuthorizationQuestion(.channel("private-a"), socketID: "1.1"))
        client.subscribe("private-a", auth: auth)
        #expect(reconnect(&client).authorizations == ["authorize private-a for 2.1"])
        #expect(client.authorized("private-a").wire == ["send 2 subscribe private-a"])
    }

    @Test("The client reports the failure of an authorizer (PusherSwift #367)")
    func silentFailure() {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        client.awaitSubscription("private-a")
        let answer = AuthorizationError(.authorizerFailed, "the authorizer gave nothing")
        let transcript = client.authorized("private-a", .failure(answer))
        #expect(transcript.told == ["failed private-a authorizationFailed"])
        #expect(transcript.outcomes == ["resume 1 failed authorizationFailed"])
    }

    @Test(
        "The client repeats a request to an endpoint that does not answer, even without a reconnect (PusherSwift #401)"
    )
    func noRetry() {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        #expect(client.advance(by: .seconds(10)).changes == ["ask retry 0"])
        client.decide(.seconds(1))
        #expect(client.advance(by: .seconds(1)).authorizations == ["authorize private-a for 1.1"])
        #expect(client.authorized("private-a").wire == ["send 1 subscribe private-a"])
    }

    @Test(
        "A subscription fails if the server refuses it, or does not answer and the policy stops the client (pusher-js)",
        arguments: [true, false]
    )
    func pendingForEver(isAnswered: Bool) {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        client.awaitSubscription("private-a")
        client.authorized("private-a")
        let message = "Invalid signature: Expected HMAC SHA256 hex digest of 1.1:private-a, but got 0123"
        if !isAnswered { client.advance(by: .seconds(10)) }
        let transcript = isAnswered ? client.received(.error(nil, message)) : client.decide(nil)
        let kind = isAnswered ? "subscriptionRefused" : "subscriptionTimedOut"
        #expect(transcript.told.last == "failed private-a \(kind)")
        #expect(transcript.outcomes == ["resume 1 failed \(kind)"])
    }
}

@Suite("Defects in authorizations that reviews found", .limited)
struct AuthorizationReviewTests {
    @Test("An authorization that the app passes between two connections is not sent on the next one")
    func betweenConnections() {
        var client = CoreClient.connected()
        client.closed()
        client.decide(.seconds(1))
        client.subscribe("private-a", auth: Authorization(auth: "key:1.1/private-a"))
        client.advance(by: .seconds(1))
        client.establish()
        #expect(client.authorized("private-a").wire == ["send 2 subscribe private-a"])
    }

    @Test("unsubscribeAll() requests no authorization for queued channels")
    func unsubscribeAll() {
        var client = CoreClient.connected { $0.authorizationsAtOnce = 2 }
        for number in 1...10 { client.subscribe("private-\(number)") }
        #expect(client.unsubscribeAll().authorizations == ["forget the authorization", "forget the authorization"])
        #expect(client.machine.authorizations.isEmpty)
    }

    @Test("The user's authorization does not wait for channels, and does not count toward their limit")
    func user() {
        var client = CoreClient.connected { $0.authorizationsAtOnce = 1 }
        for number in 1...10 { client.subscribe("private-\(number)") }
        #expect(client.signIn().authorizations == ["authorize the user for 1.1"])
        let busy = AuthorizationError(.refused, "busy", recovery: .retry(after: .seconds(1)))
        client.authorized(nil, .failure(busy))
        client.decide(.zero)
        #expect(client.advance(by: .seconds(1)).authorizations == ["authorize the user for 1.1"])
        #expect(client.authorized("private-1").authorizations == ["authorize private-2 for 1.1"])
        #expect(client.authorized(nil).authorizations == [])
    }

    @Test("The client sends an authorization that the app passes while the server refuses another one")
    func ownAfterRefused() {
        var client = CoreClient.connected()
        client.subscribe("private-a", auth: Authorization(auth: "key:1.1/private-a"))
        let next = Authorization(auth: "key:1.1/private-a", data: "{}")
        client.subscribe("private-a", auth: next)
        let transcript = client.received(.refusal("private-a"))
        #expect(transcript.wire == ["send 1 subscribe private-a"])
        #expect(transcript.sent == [.subscribe(channel: "private-a", auth: next.auth, channelData: next.data)])
        // After the second refusal, the client does not try again.
        #expect(client.received(.refusal("private-a")).told == ["failed private-a subscriptionRefused 401"])
    }

    @Test("The client does not resubscribe a refused public channel, even if the app passed an authorization")
    func ownOfPublic() {
        var client = CoreClient.connected()
        client.subscribe("a", auth: Authorization(auth: "key:1.1/a"))
        #expect(client.received(.refusal("a")) == ["failed a subscriptionRefused 401"])
    }

    @Test("A cancelled authorization no longer counts toward the limit")
    func place() {
        var client = CoreClient.connected { $0.authorizationsAtOnce = 1 }
        client.subscribe("private-a")
        client.subscribe("private-b")
        #expect(
            client.unsubscribe("private-a").authorizations == [
                "forget the authorization", "authorize private-b for 1.1",
            ]
        )
        client.signIn()
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
        #expect(client.authorized("private-b").wire == ["send 1 subscribe private-b"])
    }

    @Test("The error \"Existing subscription\" has no effect on the sign-in")
    func existingWhileSigningIn() {
        var client = CoreClient.connected()
        client.signIn()
        client.authorized(nil)
        let message = client.received(.error(nil, "Existing subscription to channel orders"))
        #expect(message == ["report serverError"])
        #expect(client.received(.signedIn("u")).told == ["signed in u"])
    }

    @Test("signOut() signs the user out, and the next connection signs in no user")
    func signOut() {
        var client = CoreClient.connected()
        client.signIn()
        client.authorized(nil)
        client.received(.signedIn("u"))
        client.received(Envelope.message("#server-to-user-u"))
        client.signOut()
        #expect(client.machine.signIn.user == nil)
        #expect(client.received(.message("#server-to-user-u")) == [])
        client.closed()
        client.connect()
        #expect(client.establish().authorizations == [])
    }

    @Test("The client reports events of a failed encrypted channel at once and does not hold them", .needsSodium)
    func eventsOfFailed() throws {
        var client = CoreClient.connected()
        let name = "private-encrypted-a"
        client.subscribe(name)
        client.authorized(name, .failure(AuthorizationError(.refused, "no", httpStatus: 403)))
        let transcript = client.received(try TestKey.first.message("x", on: name))
        #expect(transcript == ["unreadable private-encrypted-a message decryptionFailed"])
    }
}
