import Foundation
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherCore

@Suite("Encrypted channels", .limited, .needsSodium)
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

    @Test("The client decrypts an event's data and changes nothing else in the event")
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

    @Test("The key arrives with the authorization, and the client does not send the key to the server")
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

    /// The secrets that are not 32 bytes in base64.
    private static let unusableSecrets: [LongText] = [
        "", "c2VjcmV0", "not base64 secret!", LongText(Data(repeating: 1, count: 31).base64EncodedString()),
        LongText(Data(repeating: 1, count: 33).base64EncodedString()), LongText(repeating: "A", count: 10_000),
    ]

    @Test(
        "The client subscribes with an unusable key, and requests another key for the first event",
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

    @Test("After a reconnect with an unusable key, the client requests another key only for the second held event")
    func unusableKeyAfterLoss() throws {
        var client = subscribed()
        for name in ["e1", "e2"] { _ = try client.received(event(name, .second)) }
        client.closed()
        client.connect()
        client.establish()
        let bad = Authorization(auth: "key:2.1/\(name)", sharedSecret: "c2VjcmV0")
        let transcript = client.authorized(name, .success(bad))
        // The client has already requested a key for the first event before the loss.
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

    @Test("The client does not decrypt protocol events, or events of other channels")
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

    @Test("The client reports an undecryptable event with its unchanged data and the reason")
    func unreadable() throws {
        var client = subscribed()
        let envelope = Envelope.message(name)
        let transcript = client.received(envelope)
        #expect(transcript == ["unreadable private-encrypted-a message decryptionFailed"])
        guard case .failedToDecrypt(_, let given, let error)? = transcript.effects.first else { return }
        #expect(given == envelope && error.channelName == name)
    }

    // MARK: A wrong key

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
        // The client stays subscribed, and immediately delivers events that are not encrypted.
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

    @Test("Two channels request keys at the same time, and each channel gets its own key")
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

    @Test("If a key refresh fails, only the event that caused the refresh fails")
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

    @Test("A refresh fails if it brings no usable key")
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

    @Test("The client fetches the key until it gets an answer, and then delivers the held events in order")
    func refreshTimesOut() throws {
        var client = subscribed()
        _ = try client.received(event("e1", .second))
        _ = try client.received(event("e2", .second))
        for number in 1...5 {
            #expect(client.advance(by: .seconds(10)).changes == ["ask retry \(number - 1)"])
            // Only the first failure is reported.
            let report = number == 1 ? ["report authorizationFailed of \(name)"] : []
            #expect(client.decide(.seconds(1)).told.words == report)
            #expect(client.advance(by: .seconds(1)).authorizations == ["authorize private-encrypted-a for 1.1"])
        }
        #expect(
            client.authorized(name, key(.second)).told == [
                "deliver private-encrypted-a e1", "deliver private-encrypted-a e2",
            ]
        )
        #expect(client.machine.statistics(now: client.now).subscriptions.retried == 5)
    }

    @Test("The status of a subscribed channel shows that the client cannot get its key")
    func status() throws {
        var client = subscribed()
        let id = client.id(ofChannel: name)
        _ = try client.received(event("e1", .second))
        #expect(client.machine.subscriptionStatus(of: name, id) == .subscribed)
        client.advance(by: .seconds(10))
        client.decide(.seconds(1))
        guard case .retrying(let error) = client.machine.subscriptionStatus(of: name, id) else {
            Issue.record("\(client.machine.subscriptionStatus(of: name, id))")
            return
        }
        #expect(error.code == .authorizationFailed)
        client.advance(by: .seconds(1))
        client.authorized(name, key(.second))
        #expect(client.machine.subscriptionStatus(of: name, id) == .subscribed)
    }

    @Test("An event fails if the policy stops the fetch of its key, and later events use the known key")
    func refreshStops() throws {
        var client = subscribed()
        _ = try client.received(event("e1", .second))
        _ = try client.received(event("e2"))
        client.advance(by: .seconds(10))
        #expect(
            client.decide(nil).told == [
                "unreadable private-encrypted-a e1 decryptionFailed", "deliver private-encrypted-a e2",
            ]
        )
    }

    @Test("The client limits the number of held events")
    func bound() throws {
        var client = subscribed { $0.heldEncryptedEvents = 2 }
        for number in 1...2 { _ = try client.received(event("e\(number)", .second)) }
        #expect(try client.received(event("e3")) == ["unreadable private-encrypted-a e1 decryptionFailed"])
        #expect(client.machine.subscriptions[name]?.decryption?.held.count == 2)
    }

    // MARK: Losses and unsubscriptions

    @Test("After a loss during a refresh, the next subscription's key decrypts held events before newer ones")
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

    @Test("The client reports held events as failed if no authorization follows a loss during a refresh")
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

    @Test("unsubscribe() cancels a key refresh, and a new channel has its own key")
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
    func wantedAgain() throws {
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

    @Test("A subscription that fails during its key refresh starts no second refresh")
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
        "A channel decrypts events even if the server answers its subscription late or never"
    )
    func confirmedLate() throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        client.advance(by: .seconds(10))
        client.decide(.seconds(1))
        // The first events of a slow server come before or after its answer.
        #expect(try client.received(event("e1")) == ["deliver private-encrypted-a e1"])
        #expect(client.received(.success(name)) == ["stop nextTry", "subscribed private-encrypted-a"])
        #expect(try client.received(event("e2")) == ["deliver private-encrypted-a e2"])
    }

    @Test("A key refresh continues after the subscription's timeout until another refresh begins")
    func refreshedLate() throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        client.authorized(name)
        client.advance(by: .seconds(9))
        #expect(try client.received(event("e1", .second)).authorizations == ["authorize \(name) for 1.1"])
        client.advance(by: .seconds(1))
        #expect(client.decide(nil).told == ["failed \(name) subscriptionTimedOut"])
        var (anew, late) = (client, client)
        #expect(client.authorized(name, key(.second)) == ["stop authorization", "deliver \(name) e1"])
        #expect(
            anew.subscribe(name).authorizations == ["forget the authorization", "authorize \(name) for 1.1"]
        )
        anew.authorized(name, key(.second))
        #expect(anew.received(.success(name)).told.words.count == 1)
        // The server confirms the first subscription before the key of the second has arrived. The client therefore
        // requests the key again.
        late.subscribe(name)
        #expect(try late.received(event("e2", .second)).authorizations == [])
        let transcript = late.received(.success(name))
        #expect(transcript.authorizations == ["forget the authorization", "authorize \(name) for 1.1"])
        #expect(transcript.told == ["subscribed \(name)"])
        #expect(late.authorized(name, key(.second)).told == ["deliver \(name) e1", "deliver \(name) e2"])
    }

    @Test("The client requests the key at most ten times a minute, even across losses")
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

    /// PusherSwift's tests have this channel and these events.
    @Test(
        "every event waits for the first key, and is reported as undecryptable if no key arrives",
        arguments: [
            #"{"nonce":"4sVYwy4j/8dCcjyxtPCWyk19GaaViaW9","#
                + #""ciphertext":"/GMESnFGlbNn01BuBjp31XYa3i9vZsGKR8fgR9EDhXKx3lzGiUD501A="}"#,
            #"{"message":"hello"}"#,
        ]
    )
    func beforeKey(data: String) throws {
        var client = CoreClient.connected()
        client.subscribe(name)
        let event = Envelope(event: "my-event", channel: name, data: .string(data))
        #expect(client.received(event) == [])
        let transcript = client.authorized(name, .failure(AuthorizationError(.refused, "no key for you")))
        #expect(transcript.told.words.first == "unreadable \(name) my-event decryptionFailed")
        let errors = transcript.effects.compactMap { effect -> PusherClientError? in
            if case .failedToDecrypt(_, _, let error) = effect { error } else { nil }
        }
        #expect(errors.map { $0.message.contains("there is no key for the channel") } == [true])
    }
}
