import NIOCore
import NIOWebSocket

/// A handler that joins the fragments of messages, and checks the rules of RFC 6455 for clients.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let rules: HTTPTestSocket.Rules
    private let receive: (HTTPTestSocket.Event) -> Void
    private var fragments: (isText: Bool, bytes: [UInt8])?
    private var hasFailed = false

    init(_ rules: HTTPTestSocket.Rules, _ receive: @escaping (HTTPTestSocket.Event) -> Void) {
        self.rules = rules
        self.receive = receive
    }

    func makeDecoder() -> WebSocketFrameDecoder {
        // A limit above `UInt32.max` would make the decoder trap.
        WebSocketFrameDecoder(maxFrameSize: min(max(0, rules.maximumMessageSize), Int(UInt32.max)))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard !hasFailed || frame.opcode == .connectionClose else { return }
        guard frame.maskKey != nil || !rules.requiresMasks else {
            return fail(1002, "frames of a client must be masked")
        }
        let hasReservedBits = frame.rsv1 || frame.rsv2 || frame.rsv3
        guard !hasReservedBits || !rules.forbidsReserved else { return fail(1002, "reserved bits are set") }
        let payload = Array(frame.unmaskedData.readableBytesView)
        switch frame.opcode {
        case .text: begin(isText: true, payload, isLast: frame.fin)
        case .binary: begin(isText: false, payload, isLast: frame.fin)
        case .continuation: go(on: payload, isLast: frame.fin)
        case .ping: receive(.ping(payload))
        case .pong: receive(.pong(payload))
        case .connectionClose: close(payload)
        default: if rules.forbidsReserved { fail(1002, "reserved opcode") }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error as? NIOWebSocketError {
        case .invalidFrameLength: fail(1009, "the message is too long")
        case .some: fail(1002, "malformed frame")
        case nil: context.channel.endTransport()
        }
    }

    private func begin(isText: Bool, _ payload: [UInt8], isLast: Bool) {
        guard fragments == nil else { return fail(1002, "the previous message has not ended") }
        fragments = (isText, [])
        go(on: payload, isLast: isLast)
    }

    private func go(on payload: [UInt8], isLast: Bool) {
        guard let (isText, start) = fragments else { return fail(1002, "nothing to continue") }
        guard start.count + payload.count <= rules.maximumMessageSize else {
            return fail(1009, "the message is too long")
        }
        guard isLast else {
            fragments?.bytes += payload
            return
        }
        fragments = nil
        let bytes = start.isEmpty ? payload : start + payload
        if isText, rules.requiresUTF8, Self.text(bytes) == nil { return fail(1007, "the text is not UTF-8") }
        receive(.message(isText: isText, bytes))
    }

    private func close(_ payload: [UInt8]) {
        guard payload.count >= 2 else {
            return payload.isEmpty ? receive(.close(code: nil, reason: "")) : fail(1002, "malformed close frame")
        }
        let code = Int(payload[0]) << 8 | Int(payload[1])
        switch code {
        // The codes of RFC 6455 (7.4), and codes that were registered later.
        case 1000...1003, 1007...1014, 3000...4999: break
        default: return fail(1002, "\(code) is not allowed in a close frame")
        }
        guard let reason = Self.text(Array(payload.dropFirst(2))) else {
            return fail(1007, "the reason in the close frame is not UTF-8")
        }
        receive(.close(code: code, reason: reason))
    }

    /// Reports a violation. Afterwards, the handler reads only the answer to the close frame.
    private func fail(_ code: Int, _ reason: String) {
        guard !hasFailed else { return }
        hasFailed = true
        fragments = nil
        receive(.violation(code: code, reason: reason))
    }

    private static func text(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil
    }
}
