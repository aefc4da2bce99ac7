import Foundation
import PusherEncryption
import PusherProtocol
import RealtimeJSON
import SodiumReference
import Workload

/// The work for an event in one process, without a socket: decoding its envelope, decoding or encoding its data as
/// a type, or decrypting its data.
struct Decoding {
    let arguments: Arguments

    func run() throws -> [String: Double] {
        let size = arguments.number("size", default: 100)
        let json = Payload.json(size: size)
        switch (arguments.measurement, arguments.implementation) {
        case ("decode", "client"):
            let bytes = ContiguousArray(envelope(json).utf8)
            return try repeated { try Envelope(decoding: bytes.span).data.text?.utf8.count ?? 0 }
        case ("decode", "json-decoder"):
            let bytes = Data(envelope(json).utf8)
            let decoder = JSONDecoder()
            return try repeated {
                try decoder.decode(JSONEnvelopeConsumer.Message.self, from: bytes).data?.utf8.count ?? 0
            }
        case ("decode-value", "client"):
            return try repeated { try JSONDecodingOptions().decode(Payload.Orders.self, from: json).orders.count }
        case ("decode-value", "json-decoder"):
            let decoder = JSONDecoder()
            return try repeated { try decoder.decode(Payload.Orders.self, from: Data(json.utf8)).orders.count }
        case ("encode-value", let via):
            let value = try JSONDecodingOptions().decode(Payload.Orders.self, from: json)
            if via == "client" { return try repeated { try JSONEncodingOptions().encode(value).count } }
            let encoder = JSONEncoder()
            return try repeated { try encoder.encode(value).count }
        case ("decrypt", "client"):
            guard let key = SecretKey(SealedBytes.key) else { throw SubjectError("no key") }
            let sealed = SealedBytes.seal(json)
            let nonce = Data(sealed.nonce).base64EncodedString()
            let ciphertext = Data(sealed.ciphertext).base64EncodedString()
            let text = #"{"nonce":"\#(nonce)","ciphertext":"\#(ciphertext)"}"#
            return try repeated { try EncryptedEvent.open(.string(text), with: key).utf8.count }
        case ("decrypt", "libsodium"):
            let sealed = SealedBytes.seal(json)
            var message = [UInt8](repeating: 0, count: size)
            return repeated { sealed.open(into: &message) ? message.count : 0 }
        case (_, let other):
            throw SubjectError("nothing can be decoded via \(other)")
        }
    }

    private func envelope(_ json: String) -> String {
        Payload.envelope(event: Workload.eventName, channel: Workload().channelName(0), data: json)
    }

    /// Returns the usage of one call. Each call returns a size, and the use of this size keeps the optimizer from
    /// removing the work.
    private func repeated(_ body: () throws -> Int) rethrows -> [String: Double] {
        let count = arguments.number("events", default: 100_000)
        for _ in 0..<(count / 10) { use(try body()) }
        let start = ProcessUsage.now
        for _ in 0..<count { use(try body()) }
        let usage = ProcessUsage.now - start
        return usage.values(per: Double(count))
    }
}
