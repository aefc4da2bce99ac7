import PusherClient
import PusherEncryption
import PusherProtocol
import Testing

/// The machine of one channel, with its steps as words.
private struct Reader {
    var machine = DecryptionStateMachine()
    var now = Instant()
    private var refreshCount: UInt64 = 0

    /// A reader whose key came with the subscription.
    init(_ key: TestKey? = .first) throws {
        if let key { _ = try received(key) }
    }

    mutating func received(_ event: String, _ key: TestKey, limit: Int = 1_000) throws -> [String] {
        received(try key.message("x", on: "private-encrypted-a", event: event), limit: limit)
    }

    mutating func received(_ envelope: Envelope, limit: Int = 1_000, size: Int = 1_000_000) -> [String] {
        words(machine.received(envelope, limit: limit, size: size, now: now))
    }

    mutating func received(_ key: TestKey) throws -> [String] {
        words(machine.received(try #require(SecretKey(base64: key.base64)), now: now))
    }

    mutating func refreshFailed() -> [String] {
        words(machine.refreshFailed(SubscriptionError(.authorizationFailed, channelName: "a", "no"), now: now))
    }

    mutating func words(_ steps: [DecryptionStateMachine.Step]) -> [String] {
        steps.map { step in
            switch step {
            case .deliver(let envelope): return "\(envelope.event) \(envelope.data.text ?? "-")"
            case .fail(let envelope, let reason): return "\(envelope.event) fails: \(words(reason))"
            case .refreshKey:
                refreshCount += 1
                machine.refreshBegan(AuthorizationID(rawValue: refreshCount))
                return "refresh"
            }
        }
    }

    private func words(_ reason: DecryptionStateMachine.Reason) -> String {
        switch reason {
        case .malformed: "malformed"
        case .wrongKey: "wrong key"
        case .refreshFailed: "refresh failed"
        case .tooManyRefreshes: "too many refreshes"
        case .tooManyHeld: "too many held"
        case .noKey: "no key"
        }
    }
}

@Suite("Reading an encrypted channel")
struct DecryptionMachineTests {
    @Test("An event that the key opens is decrypted at once")
    func fits() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .first) == ["1 x"])
    }

    @Test("Without a key, events wait; they are decrypted in order when it arrives")
    func beforeKey() throws {
        var reader = try Reader(nil)
        for event in ["1", "2", "3"] { #expect(try reader.received(event, .first) == []) }
        #expect(try reader.received(TestKey.first) == ["1 x", "2 x", "3 x"])
    }

    @Test("An event that the key does not open requests another one, and later events wait")
    func order() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        #expect(try reader.received("2", .first) == [])
        #expect(try reader.received("3", .second) == [])
        #expect(reader.received(Envelope(event: "4")) == [])
        // The new key opens the first event. The second is older than the key, and gets a refresh of its own.
        #expect(try reader.received(TestKey.second) == ["1 x", "refresh"])
        #expect(try reader.received(TestKey.second) == ["2 fails: wrong key", "3 x", "4 -"])
        #expect(reader.machine.phase == .open)
    }

    @Test("Each event requests the key once")
    func onceForEach() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        #expect(try reader.received(TestKey.first) == ["1 fails: wrong key"])
        // The next event may cause another request, and get the right key.
        #expect(try reader.received("2", .second) == ["refresh"])
        #expect(try reader.received(TestKey.second) == ["2 x"])
    }

    @Test("Two events that no key opens both fail")
    func bothFail() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        #expect(try reader.received("2", .second) == [])
        #expect(try reader.received(TestKey.first) == ["1 fails: wrong key", "refresh"])
        #expect(try reader.received(TestKey.first) == ["2 fails: wrong key"])
    }

    @Test("If no other key is available, the event fails, and the known key decrypts later events")
    func refreshFails() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        #expect(try reader.received("2", .first) == [])
        #expect(reader.refreshFailed() == ["1 fails: refresh failed", "2 x"])
        #expect(try reader.received("3", .first) == ["3 x"])
    }

    @Test(
        "An event that is not encrypted fails by itself, because another key would not help",
        arguments: [
            "x", "{}", "[]", "null", "3", #"{"nonce":"AAAA"}"#, #"{"nonce":1,"ciphertext":2}"#,
            #"{"nonce":"AAAA","ciphertext":"AAAA"}"#, #"{"nonce":"!","ciphertext":"!"}"#,
            // A nonce of 24 bytes, and no tag.
            #"{"nonce":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","ciphertext":"AAAA"}"#,
        ]
    )
    func malformed(data: String) throws {
        var reader = try Reader()
        for payload in [Envelope.Payload.string(data), .json(data)] {
            #expect(reader.received(Envelope(event: "1", data: payload)) == ["1 fails: malformed"])
        }
        #expect(reader.machine.phase == .open)
    }

    @Test("A malformed event waits its turn")
    func malformedInOrder() throws {
        var reader = try Reader()
        _ = try reader.received("1", .second)
        #expect(reader.received(Envelope(event: "2", data: .string("{}"))) == [])
        #expect(try reader.received(TestKey.second) == ["1 x", "2 fails: malformed"])
    }

    @Test("An event without data needs no decryption, and is passed on in order")
    func withoutData() throws {
        var reader = try Reader()
        #expect(reader.received(Envelope(event: "1")) == ["1 -"])
        _ = try reader.received("2", .second)
        #expect(reader.received(Envelope(event: "3")) == [])
        #expect(try reader.received(TestKey.second) == ["2 x", "3 -"])
    }

    @Test("The bytes of waiting events are limited, except for a single event: the oldest fail")
    func boundedSize() throws {
        var reader = try Reader()
        _ = try reader.received("1", .second)
        func event(_ name: String, size: Int) -> Envelope {
            Envelope(event: name, data: .string(String(repeating: "x", count: size)))
        }
        #expect(reader.received(event("2", size: 300), size: 1_000) == [])
        #expect(reader.received(event("3", size: 300), size: 1_000) == [])
        #expect(
            reader.received(event("4", size: 600), size: 1_000) == ["1 fails: too many held", "2 fails: too many held"]
        )
        let last = reader.received(event("5", size: 2_000), size: 1_000)
        #expect(last == ["3 fails: too many held", "4 fails: too many held"])
        #expect(reader.machine.held.map(\.event) == ["5"])
    }

    @Test("The number of waiting events is limited: the oldest fails")
    func bound() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second, limit: 2) == ["refresh"])
        #expect(try reader.received("2", .second, limit: 2) == [])
        #expect(try reader.received("3", .second, limit: 2) == ["1 fails: too many held"])
        #expect(try reader.received("4", .first, limit: 2) == ["2 fails: too many held"])
        // The client requested the key because of the first event, so the third still has a refresh of its own.
        #expect(try reader.received(TestKey.first) == ["refresh"])
        #expect(try reader.received(TestKey.second) == ["3 x", "refresh"])
        #expect(reader.machine.held.map(\.event) == ["4"])
    }

    @Test("The key is requested at most ten times a minute")
    func rateLimit() throws {
        var reader = try Reader()
        for _ in 1...DecryptionStateMachine.maximumRefreshes {
            #expect(try reader.received("1", .second) == ["refresh"])
            #expect(try reader.received(TestKey.first) == ["1 fails: wrong key"])
            reader.now += .seconds(1)
        }
        #expect(try reader.received("2", .second) == ["2 fails: too many refreshes"])
        #expect(try reader.received("3", .first) == ["3 x"])
        reader.now += .milliseconds(49_999)
        #expect(try reader.received("4", .second) == ["4 fails: too many refreshes"])
        reader.now += .milliseconds(1)
        #expect(try reader.received("5", .second) == ["refresh"])
        #expect(try reader.received(TestKey.second) == ["5 x"])
        #expect(try reader.received("6", .first) == ["6 fails: too many refreshes"])
    }

    @Test("After a loss, the key of the next subscription counts as the requested one")
    func loss() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        reader.machine.awaitNextKey()
        #expect(try reader.received("2", .first) == [])
        #expect(try reader.received(TestKey.first) == ["1 fails: wrong key", "2 x"])
    }

    @Test("If no key will arrive, no event is held any longer")
    func noKey() throws {
        var reader = try Reader()
        _ = try reader.received("1", .second)
        _ = try reader.received("2", .first)
        let error = SubscriptionError(.refused, channelName: "a", "no")
        #expect(reader.words(reader.machine.subscriptionFailed(error)) == ["1 fails: no key", "2 fails: no key"])
        #expect(reader.machine.held.isEmpty)
    }

    @Test("A subscription that is confirmed late uses the key that it brought")
    func confirmedLate() throws {
        var reader = try Reader()
        _ = reader.words(reader.machine.subscriptionFailed(SubscriptionError(.refused, channelName: "a", "no")))
        #expect(try reader.received("1", .first) == [])
        #expect(reader.words(reader.machine.subscribed(now: reader.now)) == ["1 x"])
        #expect(try reader.received("2", .first) == ["2 x"])
        #expect(reader.words(reader.machine.subscribed(now: reader.now)) == [])
    }

    @Test("A retired channel holds no events, and waits for no key except its first")
    func givenUp() throws {
        var reader = try Reader()
        _ = try reader.received("1", .second)
        reader.machine.retire()
        #expect(reader.machine.held.isEmpty)
        #expect(try reader.received("2", .first) == ["2 x"])
        var keyless = try Reader(nil)
        keyless.machine.retire()
        #expect(keyless.machine.phase == .awaitingKey)
    }
}
