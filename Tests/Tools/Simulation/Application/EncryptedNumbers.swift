import PusherEncryption
import PusherProtocol

/// The numbers of events on encrypted channels, read with any of the keys that the server ever had.
struct EncryptedNumbers: Sendable {
    private var keys: [String: [SecretKey]] = [:]
    /// Those that were received: they may be held back for their key, and so come to handlers that were bound after
    /// they had been received.
    private var received: [String: Set<Int>] = [:]
    /// Those of channels that were unsubscribed just now, which may be in the middle of a delivery.
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

    /// Everything has happened that was due.
    mutating func settled() { forgotten = [:] }
}
