import Foundation
import NIOCore
import NIOWebSocket
import Workload

/// Decodes the envelope with Foundation, as a simple client does.
struct JSONEnvelopeConsumer {
    struct Message: Decodable {
        let event: String
        let channel: String?
        let data: String?
    }

    let meter: Meter
    let decoder = JSONDecoder()

    func consume(_ frame: WebSocketFrame) {
        let bytes = Data(frame.data.readableBytesView)
        guard let message = try? decoder.decode(Message.self, from: bytes) else { return }
        meter.event(message.data?.utf8.count ?? 0)
    }
}
