import Foundation
import PusherEncryption
import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// The machine of a channel whose boxes the app opens. The boxes of these tests are not encrypted.
private struct Opener {
    var machine = DecryptionStateMachine(opener: .app)
    private(set) var boxes: [SealedBox] = []
    private var boxCount: UInt64 = 0

    init() throws {
        _ = machine.received(try #require(SecretKey(base64: TestKey.first.base64)), now: Instant())
    }

    mutating func received(_ event: String, limit: Int = 1_000) -> [String] {
        let envelope = Envelope(event: event, channel: "private-encrypted-a", data: .string(Self.data))
        return words(machine.received(envelope, limit: limit, size: 1_000_000, now: Instant()))
    }

    mutating func received(_ key: TestKey) throws -> [String] {
        words(machine.received(try #require(SecretKey(base64: key.base64)), now: Instant()))
    }

    /// - Parameter box: The number of the box; by default the last box.
    mutating func opened(_ message: [UInt8]?, box: UInt64? = nil) -> [String] {
        words(machine.opened(BoxID(rawValue: box ?? boxCount), message, now: Instant()))
    }

    mutating func words(_ steps: [DecryptionStateMachine.Step]) -> [String] {
        steps.map { step in
            switch step {
            case .deliver(let envelope): return "\(envelope.event) \(envelope.data.text ?? "-")"
            case .fail(let envelope, let reason): return "\(envelope.event) fails: \(reason)"
            case .refreshKey:
                machine.refreshBegan(AuthorizationID(rawValue: 1))
                return "refresh"
            case .openBox(let box):
                boxCount += 1
                boxes.append(box)
                machine.openingBegan(BoxID(rawValue: boxCount))
                return "open \(boxCount)"
            }
        }
    }

    static let nonce = [UInt8](repeating: 7, count: 24)
    static let box = [UInt8](repeating: 9, count: 20)
    static let data =
        #"{"nonce":"\#(Data(nonce).base64EncodedString())","ciphertext":"\#(Data(box).base64EncodedString())"}"#
}

@Suite("Boxes that the app opens", .limited)
struct AppOpenedBoxTests {
    private let text = Array("x".utf8)

    @Test("the machine asks for each event, with the decoded nonce, the box and the key, and keeps the order")
    func order() throws {
        var opener = try Opener()
        #expect(opener.received("1") == ["open 1"])
        #expect(opener.received("2") == [])
        #expect(opener.opened(text) == ["1 x", "open 2"])
        #expect(opener.opened(Array("y".utf8)) == ["2 y"])
        #expect(opener.machine.phase == .open)
        let key = try #require(SecretKey(base64: TestKey.first.base64))
        #expect(
            opener.boxes == [SealedBox](repeating: SealedBox(nonce: Opener.nonce, box: Opener.box, key: key), count: 2)
        )
    }

    @Test("a wrong key is fetched again once, and then the event fails")
    func wrongKey() throws {
        var opener = try Opener()
        #expect(opener.received("1") == ["open 1"])
        #expect(opener.received("2") == [])
        #expect(opener.opened(nil) == ["refresh"])
        #expect(try opener.received(TestKey.second) == ["open 2"])
        #expect(opener.boxes.last?.key == SecretKey(base64: TestKey.second.base64))
        let reason = DecryptionStateMachine.Reason.wrongKey
        #expect(opener.opened(nil) == ["1 fails: \(reason)", "open 3"])
        #expect(opener.opened(text) == ["2 x"])
    }

    @Test("a message that is not UTF-8 fails, and so does data that is not encrypted, without a question")
    func malformed() throws {
        var opener = try Opener()
        #expect(opener.received("1") == ["open 1"])
        #expect(opener.opened([0xFF]) == ["1 fails: the decrypted data is not UTF-8."])
        let plain = Envelope(event: "2", channel: "private-encrypted-a", data: .string(#"{"nonce":"AAAA"}"#))
        let steps = opener.words(opener.machine.received(plain, limit: 10, size: 1_000, now: Instant()))
        #expect(steps == ["2 fails: the ciphertext is missing, or is not a string."])
    }

    @Test("the machine ignores an answer after the loss of the connection, and asks again with the next key")
    func lostMeanwhile() throws {
        var opener = try Opener()
        #expect(opener.received("1") == ["open 1"])
        opener.machine.awaitNextKey()
        #expect(opener.opened(text) == [])
        #expect(try opener.received(TestKey.second) == ["open 2"])
        #expect(opener.opened(text, box: 1) == [])
        #expect(opener.opened(text) == ["1 x"])
    }

    @Test("a full buffer drops waiting events, but not the event that the app is opening")
    func overflow() throws {
        var opener = try Opener()
        #expect(opener.received("1", limit: 2) == ["open 1"])
        #expect(opener.received("2", limit: 2) == [])
        let reason = DecryptionStateMachine.Reason.tooManyHeld
        #expect(opener.received("3", limit: 1) == ["2 fails: \(reason)"])
        #expect(opener.opened(text) == ["1 x", "open 2"])
        #expect(opener.opened(text) == ["3 x"])
    }

    @Test("the client's machine passes the question and the answer on")
    func client() throws {
        let name = "private-encrypted-a"
        var client = CoreClient.subscribed(name, nil) { $0.boxOpener = .app }
        let asked = client.received(Envelope(event: "created", channel: name, data: .string(Opener.data)))
        #expect(asked == ["open a box of private-encrypted-a"])
        guard case .openBox(let id, let channel, _)? = asked.effects.first else { return }
        #expect(client.machine.statistics.events.held == 1)
        let answered = client.input { $0.boxOpened(id, on: channel, text, now: $1, into: &$2) }
        #expect(answered == ["deliver private-encrypted-a created"])
        #expect(client.machine.statistics.events.held == 0)
        #expect(client.input { $0.boxOpened(id, on: channel, text, now: $1, into: &$2) } == [])
    }

    @Test("without code that opens boxes, a subscription to an encrypted channel fails and says what to do")
    func nobody() throws {
        var client = CoreClient.connected { $0.boxOpener = .nobody }
        let transcript = client.subscribe("private-encrypted-cache-a")
        #expect(transcript.told == ["failed private-encrypted-cache-a encryptionUnavailable"])
        #expect(transcript.wire == [] && transcript.authorizations == [])
        guard case .subscriptionFailed(_, let error, _)? = transcript.told.effects.first else { return }
        for word in ["options.secretBox", "SystemSodium", "BundledSodium"] { #expect(error.message.contains(word)) }
        #expect(client.subscribe("private-a").authorizations == ["authorize private-a for 1.1"])
    }
}
