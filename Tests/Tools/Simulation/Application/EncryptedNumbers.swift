import PusherEncryption
import PusherProtocol

/// The numbers of events on encrypted channels, decrypted with any key that the server ever had.
struct EncryptedNumbers: Sendable {
    private var keys: [String: [SecretKey]] = [:]
    /// The received events. They may be held until a key arrives, and then reach handlers that were bound later.
    private var received: [String: Set<Int>] = [:]
    /// Events of channels that were just unsubscribed, which may be in the middle of a delivery.
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

    /// All due work has been done.
    mutating func settled() { forgotten = [:] }
}
