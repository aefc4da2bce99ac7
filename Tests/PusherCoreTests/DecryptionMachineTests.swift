import PusherEncryption
import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// The machine of one channel, which returns its steps as strings.
private struct Reader {
    var machine = DecryptionStateMachine()
    var now = Instant()
    private var refreshCount: UInt64 = 0

    /// Creates a reader with the key from the subscription.
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
            case .openBox: return "open a box"
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

@Suite("Reading an encrypted channel", .limited, .needsSodium)
struct DecryptionMachineTests {
    @Test("The machine decrypts an event at once if the key matches")
    func fits() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .first) == ["1 x"])
    }

    @Test("Events wait for the first key, and the machine decrypts them in order when the key arrives")
    func beforeKey() throws {
        var reader = try Reader(nil)
        for event in ["1", "2", "3"] { #expect(try reader.received(event, .first) == []) }
        #expect(try reader.received(TestKey.first) == ["1 x", "2 x", "3 x"])
    }

    @Test("The machine requests another key for an event that the key cannot decrypt, and later events wait")
    func order() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        #expect(try reader.received("2", .first) == [])
        #expect(try reader.received("3", .second) == [])
        #expect(reader.received(Envelope(event: "4")) == [])
        // The new key decrypts the first event. The second event causes another refresh.
        #expect(try reader.received(TestKey.second) == ["1 x", "refresh"])
        #expect(try reader.received(TestKey.second) == ["2 fails: wrong key", "3 x", "4 -"])
        #expect(reader.machine.phase == .open)
    }

    @Test("The machine requests another key at most once for each event")
    func onceForEach() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        #expect(try reader.received(TestKey.first) == ["1 fails: wrong key"])
        // The machine may request another key for the next event, and the right key arrives.
        #expect(try reader.received("2", .second) == ["refresh"])
        #expect(try reader.received(TestKey.second) == ["2 x"])
    }

    @Test("Two events that no key can decrypt both fail")
    func bothFail() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        #expect(try reader.received("2", .second) == [])
        #expect(try reader.received(TestKey.first) == ["1 fails: wrong key", "refresh"])
        #expect(try reader.received(TestKey.first) == ["2 fails: wrong key"])
    }

    @Test("The event fails if there is no other key, and the known key decrypts later events")
    func refreshFails() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        #expect(try reader.received("2", .first) == [])
        #expect(reader.refreshFailed() == ["1 fails: refresh failed", "2 x"])
        #expect(try reader.received("3", .first) == ["3 x"])
    }

    @Test(
        "An event that is not encrypted fails without a request for another key",
        arguments: [
            "x", "{}", "[]", "null", "3", #"{"nonce":"AAAA"}"#, #"{"nonce":1,"ciphertext":2}"#,
            #"{"nonce":"AAAA","ciphertext":"AAAA"}"#, #"{"nonce":"!","ciphertext":"!"}"#,
            // This nonce has 24 bytes, but the ciphertext has no tag.
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

    @Test("A malformed event waits for the events before it")
    func malformedInOrder() throws {
        var reader = try Reader()
        _ = try reader.received("1", .second)
        #expect(reader.received(Envelope(event: "2", data: .string("{}"))) == [])
        #expect(try reader.received(TestKey.second) == ["1 x", "2 fails: malformed"])
    }

    @Test("The machine passes on an event without data in order and without decryption")
    func withoutData() throws {
        var reader = try Reader()
        #expect(reader.received(Envelope(event: "1")) == ["1 -"])
        _ = try reader.received("2", .second)
        #expect(reader.received(Envelope(event: "3")) == [])
        #expect(try reader.received(TestKey.second) == ["2 x", "3 -"])
    }

    @Test("The oldest waiting events fail beyond the limit of bytes, except a single event")
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

    @Test("Names and unknown keys of waiting events count toward the limit of bytes")
    func boundedNames() throws {
        var reader = try Reader()
        _ = try reader.received("1", .second)
        let name = String(repeating: "x", count: 2_000)
        #expect(reader.received(Envelope(event: name, data: .string("")), size: 1_000) == ["1 fails: too many held"])
        var envelope = Envelope(event: "3", data: .string(""))
        envelope.unknownKeysText = name
        #expect(reader.received(envelope, size: 1_000) == ["\(name) fails: too many held"])
    }

    @Test("The oldest waiting event fails beyond the limit of events")
    func bound() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second, limit: 2) == ["refresh"])
        #expect(try reader.received("2", .second, limit: 2) == [])
        #expect(try reader.received("3", .second, limit: 2) == ["1 fails: too many held"])
        #expect(try reader.received("4", .first, limit: 2) == ["2 fails: too many held"])
        // The machine requested this key for the first event, so the third event can still cause a refresh.
        #expect(try reader.received(TestKey.first) == ["refresh"])
        #expect(try reader.received(TestKey.second) == ["3 x", "refresh"])
        #expect(reader.machine.held.map(\.event) == ["4"])
    }

    @Test("The machine requests the key at most ten times a minute")
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

    @Test("The key of the next subscription after a loss counts as the requested key")
    func loss() throws {
        var reader = try Reader()
        #expect(try reader.received("1", .second) == ["refresh"])
        reader.machine.awaitNextKey()
        #expect(try reader.received("2", .first) == [])
        #expect(try reader.received(TestKey.first) == ["1 fails: wrong key", "2 x"])
    }

    @Test("The machine holds no event if no key will arrive")
    func noKey() throws {
        var reader = try Reader()
        _ = try reader.received("1", .second)
        _ = try reader.received("2", .first)
        let error = SubscriptionError(.subscriptionRefused, channelName: "a", "no")
        #expect(reader.words(reader.machine.subscriptionFailed(error)) == ["1 fails: no key", "2 fails: no key"])
        #expect(reader.machine.held.isEmpty)
    }

    @Test("A subscription that the server confirms late uses the key from its authorization")
    func confirmedLate() throws {
        var reader = try Reader()
        _ = reader.words(
            reader.machine.subscriptionFailed(SubscriptionError(.subscriptionRefused, channelName: "a", "no"))
        )
        #expect(try reader.received("1", .first) == [])
        #expect(reader.words(reader.machine.subscribed(now: reader.now)) == ["1 x"])
        #expect(try reader.received("2", .first) == ["2 x"])
        #expect(reader.words(reader.machine.subscribed(now: reader.now)) == [])
    }

    @Test("A retired channel holds no events, and requests no other key")
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
