import Foundation
import PusherClient
import PusherProtocol
import TestSupport
import Testing

@Suite("Encrypted channels")
struct EncryptedChannelTests {
    private let name = "private-encrypted-a"
    private let other = "private-encrypted-b"
    private let failure = Result<Authorization, AuthorizationError>.failure(AuthorizationError(.refused, "no"))

    private func subscribed(_ configure: (inout CoreConfiguration) -> Void = { _ in }) -> CoreClient {
        .subscribed(name, nil, configure)
    }

    private func event(_ event: String, _ key: TestKey = .first, on channel: String? = nil) throws -> Envelope {
        try key.message(#"{"a":1}"#, on: channel ?? name, event: event)
    }

    /// The authorizer's answer with another key.
    private func key(_ key: TestKey, of channel: String? = nil) -> Result<Authorization, AuthorizationError> {
        .success(Authorization(auth: "key:1.1/\(channel ?? name)", sharedSecret: key.base64))
    }

    @Test("An event is decrypted, and otherwise unchanged")
    func decrypted() throws {
        var client = subscribed()
        var envelope = try event("e1")
        envelope.userID = "u"
        envelope.unknownKeysText = #"{"more":"that cannot be trusted"}"#
        let transcript = client.received(envelope)
        #expect(transcript == ["deliver private-encrypted-a e1"])
        guard case .deliver(_, let delivered)? = transcript.effects.first else { return }
        #expect(delivered.data == .string(#"{"a":1}"#) && delivered.userID == "u" && delivered.unknownKeysText == nil)
    }

    @Test("The key arrives with the authorization, and is not passed on")
    func secretStays() throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        let transcript = client.authorized(name)
        #expect(transcript.wire == ["send 1 subscribe private-encrypted-a"])
        #expect(transcript.sent.allSatisfy { !$0.jsonText.contains(TestKey.first.base64) })
        #expect(!String(describing: client.machine).contains(TestKey.first.base64))
    }

    @Test("An authorization without a key is an error of the subscription")
    func missingKey() {
        var client = CoreClient.connected()
        client.subscribe(name)
        let transcript = client.authorized(name, .success(Authorization(auth: "key:1.1/\(name)")))
        #expect(transcript.told == ["failed private-encrypted-a invalidAuthorization"])
        #expect(transcript.wire == [])
    }

    /// Secrets that are not the base64 of 32 bytes.
    private static let unusableSecrets: [LongText] = [
        "", "c2VjcmV0", "not base64 secret!", LongText(Data(repeating: 1, count: 31).base64EncodedString()),
        LongText(Data(repeating: 1, count: 33).base64EncodedString()), LongText(repeating: "A", count: 10_000),
    ]

    @Test(
        "With an unusable key the channel is subscribed; the first event requests another",
        arguments: unusableSecrets
    )
    func unusableKey(secret: LongText) throws {
        let secret = secret.text
        var client = CoreClient.connected()
        client.subscribe(name)
        let transcript = client.authorized(name, .success(Authorization(auth: "key:1.1/\(name)", sharedSecret: secret)))
        #expect(transcript.told == ["report invalidAuthorization of private-encrypted-a"])
        #expect(transcript.wire == ["send 1 subscribe private-encrypted-a"])
        if !secret.isEmpty { #expect(transcript.effects.allSatisfy { !"\($0)".contains(secret) }) }
        client.received(.success(name))
        #expect(try client.received(event("e1")).authorizations == ["authorize private-encrypted-a for 1.1"])
        #expect(try client.received(event("e2")) == [])
        #expect(
            client.authorized(name).told == ["deliver private-encrypted-a e1", "deliver private-encrypted-a e2"]
        )
    }

    @Test("With an unusable key, events from before a loss are decrypted after the subscription")
    func unusableKeyAfterLoss() throws {
        var client = subscribed()
        for name in ["e1", "e2"] { _ = try client.received(event(name, .second)) }
        client.closed()
        client.connect()
        client.establish()
        let bad = Authorization(auth: "key:2.1/\(name)", sharedSecret: "c2VjcmV0")
        let transcript = client.authorized(name, .success(bad))
        // The client has already requested a key because of the first event, before the loss.
        #expect(
            transcript.told == [
                "report invalidAuthorization of private-encrypted-a",
                "unreadable private-encrypted-a e1 decryptionFailed",
            ]
        )
        #expect(transcript.wire == ["send 2 subscribe private-encrypted-a"])
        #expect(client.received(.success(name)).authorizations == ["authorize private-encrypted-a for 2.1"])
        let good = Authorization(auth: "key:2.1/\(name)", sharedSecret: TestKey.second.base64)
        #expect(client.authorized(name, .success(good)).told == ["deliver private-encrypted-a e2"])
    }

    @Test("Events of the protocol, and of other channels, are not encrypted")
    func plain() {
        var client = subscribed()
        client.subscribe("private-a")
        client.authorized("private-a")
        client.received(.success("private-a"))
        #expect(
            client.received(Envelope(event: "pusher:new", channel: name)) == ["deliver private-encrypted-a pusher:new"]
        )
        #expect(
            client.received(Envelope(event: EventName.cacheMiss, channel: name)) == ["cache miss private-encrypted-a"]
        )
        #expect(client.received(.message("private-a")) == ["deliver private-a message"])
    }

    @Test("An event that cannot be decrypted is reported unchanged, with the reason")
    func unreadable() throws {
        var client = subscribed()
        let envelope = Envelope.message(name)
        let transcript = client.received(envelope)
        #expect(transcript == ["unreadable private-encrypted-a message decryptionFailed"])
        guard case .failedToDecrypt(_, let given, let error)? = transcript.effects.first else { return }
        #expect(given == envelope && error.channelName == name)
    }

    // MARK: A key that does not fit

    @Test("A key refresh keeps the order of events, and delays no other channel")
    func order() throws {
        var client = subscribed()
        client.subscribe(other)
        client.authorized(other)
        client.received(.success(other))
        let asked = try client.received(event("e1", .second))
        #expect(asked == ["authorize private-encrypted-a for 1.1", "set authorization 10s"])
        #expect(try client.received(event("e2", .second)) == [])
        #expect(try client.received(event("e1", on: other)) == ["deliver private-encrypted-b e1"])
        #expect(client.received(.message(nil)) == ["deliver - message"])
        // The subscription does not change, and events without secrets are delivered at once.
        #expect(
            client.received(Envelope(event: EventName.cacheMiss, channel: name)) == ["cache miss private-encrypted-a"]
        )
        #expect(
            client.authorized(name, key(.second)) == [
                "stop authorization", "deliver private-encrypted-a e1", "deliver private-encrypted-a e2",
            ]
        )
        #expect(client.phase(of: name) == "subscribed")
    }

    @Test("Two channels request their keys at the same time, and each gets its own")
    func twoChannels() throws {
        var client = subscribed()
        client.subscribe(other)
        client.authorized(other)
        client.received(.success(other))
        #expect(try client.received(event("e1", .second)).authorizations == ["authorize private-encrypted-a for 1.1"])
        #expect(
            try client.received(event("e2", .second, on: other)).authorizations == [
                "authorize private-encrypted-b for 1.1"
            ]
        )
        #expect(client.authorized(other, key(.second, of: other)).told == ["deliver private-encrypted-b e2"])
        #expect(client.authorized(name, key(.second)).told == ["deliver private-encrypted-a e1"])
    }

    @Test("A failed refresh costs the one event that requested it")
    func refreshFails() throws {
        var client = subscribed()
        _ = try client.received(event("e1", .second))
        _ = try client.received(event("e2"))
        #expect(
            client.authorized(name, failure).told == [
                "unreadable private-encrypted-a e1 decryptionFailed", "deliver private-encrypted-a e2",
            ]
        )
        #expect(client.phase(of: name) == "subscribed")
    }

    @Test("A refresh without a usable key has failed")
    func refreshUnusable() throws {
        var client = subscribed()
        _ = try client.received(event("e1", .second))
        let transcript = client.authorized(
            name,
            .success(Authorization(auth: "key:1.1/\(name)", sharedSecret: "secret!"))
        )
        #expect(transcript.told == ["unreadable private-encrypted-a e1 decryptionFailed"])
        guard case .failedToDecrypt(_, _, let error)? = transcript.effects.last else { return }
        #expect(!"\(error)".contains("secret!"))
    }

    @Test("A refresh has two tries, and a hanging authorizer holds the channel no longer")
    func refreshTimesOut() throws {
        var client = subscribed()
        _ = try client.received(event("e1", .second))
        _ = try client.received(event("e2"))
        #expect(client.advance(by: .seconds(10)).changes == ["ask retry 0"])
        client.decide(.seconds(1))
        #expect(client.advance(by: .seconds(1)).authorizations == ["authorize private-encrypted-a for 1.1 again 2"])
        #expect(
            client.advance(by: .seconds(10)).told == [
                "unreadable private-encrypted-a e1 decryptionFailed", "deliver private-encrypted-a e2",
            ]
        )
    }

    @Test("The number of held events is limited")
    func bound() throws {
        var client = subscribed { $0.heldEncryptedEvents = 2 }
        for number in 1...2 { _ = try client.received(event("e\(number)", .second)) }
        #expect(try client.received(event("e3")) == ["unreadable private-encrypted-a e1 decryptionFailed"])
        #expect(client.machine.subscriptions[name]?.decryption?.held.count == 2)
    }

    // MARK: Losses and unsubscriptions

    @Test("A loss during a refresh: held events are decrypted with the next subscription's key, before newer ones")
    func lossDuringRefresh() throws {
        var client = subscribed()
        _ = try client.received(event("e1", .second))
        _ = try client.received(event("e2", .second))
        #expect(client.closed().authorizations == ["forget the authorization"])
        client.connect()
        #expect(client.establish().authorizations == ["authorize private-encrypted-a for 2.1"])
        let good = Authorization(auth: "key:2.1/\(name)", sharedSecret: TestKey.second.base64)
        #expect(
            client.authorized(name, .success(good)).told == [
                "deliver private-encrypted-a e1", "deliver private-encrypted-a e2",
            ]
        )
        client.received(.success(name))
        #expect(try client.received(event("e3", .second)) == ["deliver private-encrypted-a e3"])
    }

    @Test("A loss during a refresh, without a later authorization: held events fail and are reported")
    func lossAndFailure() throws {
        var client = subscribed()
        _ = try client.received(event("e1", .second))
        client.closed()
        client.connect()
        client.establish()
        #expect(
            client.authorized(name, failure).told == [
                "unreadable private-encrypted-a e1 decryptionFailed", "failed private-encrypted-a authorizationFailed",
            ]
        )
    }

    @Test("Unsubscribing during a refresh ends it, and a new channel has its own key")
    func unsubscribeDuringRefresh() throws {
        var client = subscribed()
        _ = try client.received(event("e1", .second))
        let asked = try #require(client.ledger.authorizations.keys.first)
        #expect(
            client.unsubscribe(name) == [
                "retired private-encrypted-a", "stop authorization", "forget the authorization",
                "send 1 unsubscribe private-encrypted-a",
            ]
        )
        #expect(client.answer(asked, key(.second)) == [])
        client.subscribe(name)
        #expect(client.authorized(name).told == [])
        client.received(.success(name))
        #expect(try client.received(event("e2")) == ["deliver private-encrypted-a e2"])
    }

    @Test("A channel that is unsubscribed and subscribed while pending does not wait for the old refresh")
    func reinstated() throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        #expect(try client.received(event("e1", .second)).authorizations == ["authorize private-encrypted-a for 1.1"])
        client.unsubscribe(name)
        client.subscribe(name)
        client.received(.success(name))
        #expect(try client.received(event("e2")) == ["deliver private-encrypted-a e2"])
        #expect(try client.received(event("e3", .second)).authorizations == ["authorize private-encrypted-a for 1.1"])
    }

    @Test("A subscription that fails during its key refresh starts no second one")
    func failsDuringRefresh() throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        _ = try client.received(event("e1", .second))
        #expect(
            client.received(.refusal(name)).acts == [
                "forget the authorization", "unreadable private-encrypted-a e1 decryptionFailed",
                "failed private-encrypted-a subscriptionRefused 401",
            ]
        )
        #expect(client.subscribe(name).authorizations == ["authorize private-encrypted-a for 1.1"])
        client.authorized(name)
        client.received(.success(name))
        #expect(try client.received(event("e2")) == ["deliver private-encrypted-a e2"])
    }

    @Test(
        "A channel whose subscription is answered late, or never, decrypts events like any other"
    )
    func confirmedLate() throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        client.advance(by: .seconds(10))
        // The server is slow, so its first events come before or after its answer.
        #expect(try client.received(event("e1")) == ["deliver private-encrypted-a e1"])
        #expect(client.received(.success(name)) == ["subscribed private-encrypted-a"])
        #expect(try client.received(event("e2")) == ["deliver private-encrypted-a e2"])
    }

    @Test("A refresh that outlives the subscription's timeout continues until another one begins")
    func refreshedLate() throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        client.advance(by: .seconds(9))
        #expect(try client.received(event("e1", .second)).authorizations == ["authorize \(name) for 1.1"])
        #expect(client.advance(by: .seconds(1)).told == ["failed \(name) subscriptionTimedOut"])
        var (anew, late) = (client, client)
        #expect(client.authorized(name, key(.second)) == ["stop authorization", "deliver \(name) e1"])
        #expect(
            anew.subscribe(name).authorizations == ["forget the authorization", "authorize \(name) for 1.1"]
        )
        anew.authorized(name, key(.second))
        #expect(anew.received(.success(name)).told.words.count == 1)
        // The server confirms the first subscription late, before the key of the second has arrived, so the client
        // requests the key again.
        late.subscribe(name)
        #expect(try late.received(event("e2", .second)).authorizations == [])
        let transcript = late.received(.success(name))
        #expect(transcript.authorizations == ["forget the authorization", "authorize \(name) for 1.1"])
        #expect(transcript.told == ["subscribed \(name)"])
        #expect(late.authorized(name, key(.second)).told == ["deliver \(name) e1", "deliver \(name) e2"])
    }

    @Test("The key may be requested ten times in a minute, across losses")
    func rateLimit() throws {
        var client = subscribed()
        for number in 1...9 {
            _ = try client.received(event("e\(number)", .second))
            client.authorized(name)
        }
        client.closed()
        client.connect()
        client.establish()
        client.authorized(name)
        client.received(.success(name))
        #expect(try client.received(event("e10", .second)).authorizations == ["authorize private-encrypted-a for 2.1"])
        client.authorized(name)
        #expect(try client.received(event("e11", .second)) == ["unreadable private-encrypted-a e11 decryptionFailed"])
    }
}
