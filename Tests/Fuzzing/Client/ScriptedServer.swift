import NIOCore
import NIOEmbedded
import PusherProtocol

/// The server's end of one connection. It answers the upgrade, and, unless the input says otherwise, what the client
/// sends after it, as a server does.
final class ScriptedServer {
    /// The number of the connection.
    let number: Int
    let channel: EmbeddedChannel
    private var request: [UInt8] = []
    private var frames = ClientFrames()
    private(set) var isUpgraded = false
    private(set) var hasSentClose = false
    /// False once anything was sent that is not as it should be.
    private(set) var isPlain = true

    init(number: Int, channel: EmbeddedChannel) {
        self.number = number
        self.channel = channel
    }

    var isOpen: Bool { channel.isActive }
    var socketID: String { "1.\(number)" }

    // MARK: Sending

    /// In one read each.
    func send(_ pieces: [[UInt8]]) {
        for piece in pieces where channel.isActive {
            channel.pipeline.fireChannelRead(ByteBuffer(bytes: piece))
            channel.pipeline.fireChannelReadComplete()
        }
    }

    /// What the input has made up.
    func sendScripted(_ pieces: [[UInt8]]) {
        isPlain = false
        send(pieces)
    }

    func upgrade(_ answer: [UInt8]? = nil) {
        guard !isUpgraded, let accept else { return }
        isUpgraded = true
        let usual = """
            HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: {accept}\r\n\r\n
            """
        if answer != nil { isPlain = false }
        send([(answer ?? Array(usual.utf8)).replacing("{accept}".utf8, with: accept.utf8)])
    }

    func greet() {
        send([
            ServerFrame.text(
                #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"\#(socketID)\",\"activity_timeout\":60}"}"#
            )
        ])
    }

    func end() { channel.close(promise: nil) }

    // MARK: Receiving

    private var accept: String? {
        let lines = request.text.split(separator: "\r\n", omittingEmptySubsequences: false)
        guard request.suffix(4) == [13, 10, 13, 10] else { return nil }
        let name = "Sec-WebSocket-Key: "
        return lines.first { $0.hasPrefix(name) }.map { WebSocketAccept.value(for: String($0.dropFirst(name.count))) }
    }

    var hasRequest: Bool { request.suffix(4) == [13, 10, 13, 10] }

    /// Takes what the client has sent; false where it has sent nothing.
    func receive(answering: Bool) -> Bool {
        var hasReceived = false
        while let buffer = (try? channel.readOutbound(as: ByteBuffer.self)) ?? nil {
            hasReceived = true
            let bytes = Array(buffer.readableBytesView)
            if isUpgraded || hasRequest { frames.append(bytes) } else { request += bytes }
        }
        while let frame = frames.next() { take(frame, answering: answering) }
        return hasReceived
    }

    private func take(_ frame: ClientFrames.Frame, answering: Bool) {
        switch frame.opcode {
        case 1:
            guard let message = try? Envelope(decoding: frame.payload.span) else {
                return require(false, "the client sends what is no message: \(frame.payload.text)")
            }
            check(message)
            if answering, let answer = answer(to: message) { send([ServerFrame.text(answer)]) }
        case 8:
            require(frame.payload.count != 1, "the client sends half a close code")
            let reason = frame.payload.dropFirst(2)
            require(String(validating: reason, as: UTF8.self) != nil, "the client gives a reason that is not UTF-8")
            guard answering, !hasSentClose else { return }
            hasSentClose = true
            send([ServerFrame.bytes(0x88, Array(frame.payload.prefix(2)))])
            end()
        default: break
        }
    }

    /// A signature for one connection is never sent on another.
    private func check(_ message: Envelope) {
        guard isPlain, message.event == EventName.subscribe || message.event == EventName.signIn,
            let auth = message.data.value?["auth"]?.string, auth.hasPrefix("key:1.")
        else { return }
        require(auth == "key:\(socketID)", "the signature \(auth) is sent on \(socketID)")
    }

    private func answer(to message: Envelope) -> String? {
        let data = message.data.value
        switch message.event {
        case EventName.ping: return Envelope.pong.jsonText
        case EventName.signIn:
            let user = data?["user_data"]?.string ?? ""
            let answer: JSONValue = ["user_data": .string(user)]
            return Envelope(event: EventName.signInSuccess, data: .string(answer.jsonText)).jsonText
        case EventName.subscribe:
            let name = data?["channel"]?.string ?? ""
            let isPresence = ChannelKind(ofChannelNamed: name).base == .presence
            let members: JSONValue = ["presence": ["count": 1, "ids": ["me"], "hash": ["me": nil]]]
            return Envelope(
                event: EventName.subscriptionSucceededInternal,
                channel: name,
                data: .string(isPresence ? members.jsonText : "{}")
            ).jsonText
        default: return nil
        }
    }
}
