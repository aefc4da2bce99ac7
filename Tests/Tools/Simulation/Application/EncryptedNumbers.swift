import PusherEncryption
import PusherProtocol

/// The numbers of events on encrypted channels, decrypted with any of the server's current or earlier keys.
struct EncryptedNumbers: Sendable {
    private var keys: [String: [SecretKey]] = [:]
    /// The received events. The client may hold them until a key arrives, and deliver them to handlers that were bound
    /// later.
    private var received: [String: Set<Int>] = [:]
    /// The events of channels that were just unsubscribed. Such an event may still be in delivery.
    private var forgotten: [String: Set<Int>] = [:]

    mutating func addKey(_ secret: String?, of channel: String) {
        guard let key = secret.flatMap({ SecretKey(base64: $0) }) else { return }
        keys[channel, default: []].append(key)
    }

    func number(_ data: Envelope.Payload, on channel: String) -> Int? {
        for key in (keys[channel] ?? []).reversed() {
            if let text = try? EncryptedEvent.open(data, with: key) { return EventNumber.read(text) }
        }
        return nil
    }

    mutating func received(_ data: Envelope.Payload, on channel: String) -> Int? {
        guard let number = number(data, on: channel) else { return nil }
        received[channel, default: []].insert(number)
        return number
    }

    func hasReceived(_ number: Int, on channel: String) -> Bool {
        received[channel]?.contains(number) == true || forgotten[channel]?.contains(number) == true
    }

    mutating func forgetEvents(of channel: String) {
        forgotten[channel, default: []].formUnion(received.removeValue(forKey: channel) ?? [])
    }

    mutating func forgetEvents() { (received, forgotten) = ([:], [:]) }

    /// Forgets the events of unsubscribed channels after all due work.
    mutating func settled() { forgotten = [:] }
}
