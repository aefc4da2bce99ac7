import ClientTestSupport
import NIOCore
import NIOEmbedded
import PusherProtocol

/// The server's end of one connection. The server answers the upgrade and later messages correctly, unless the input
/// says otherwise.
final class ScriptedServer {
    /// How the server handles the client's messages.
    enum Attention {
        case answering
        /// The server reads messages, but does not answer or subscribe.
        case ignoring
        /// The server handles no messages.
        case stalled
    }

    /// The number of the connection.
    let number: Int
    let channel: EmbeddedChannel
    private var request: [UInt8] = []
    private var frames = ClientFrames()
    private var position = FramePosition()
    private(set) var isUpgraded = false
    private(set) var hasSentClose = false
    /// Whether the server has sent no bytes of the input so far.
    private(set) var isPlain = true
    /// Whether all of the server's own messages were whole frames. If the input has begun a frame, the server's next
    /// message becomes a part of that frame.
    private var isUnderstood = true
    /// The client's subscriptions, according to the server.
    private(set) var subscriptions: Set<String> = []
    /// The channels of `subscribe` messages that the server has ignored.
    private var ignored: Set<String> = []

    init(number: Int, channel: EmbeddedChannel) {
        self.number = number
        self.channel = channel
    }

    var isOpen: Bool { channel.isActive }
    var socketID: String { "1.\(number)" }

    /// Whether the client could read all of the server's own messages, and can read the next one.
    var isHeard: Bool { isUnderstood && position.isBetweenFrames }

    /// The client's subscriptions, without the user's own channel.
    var channels: Set<String> { subscriptions.filter { !$0.hasPrefix(ChannelName.serverToUserPrefix) } }

    /// The subscriptions that the client may have. The input may have confirmed subscriptions that the server does not
    /// know.
    var claimed: Set<String> { isPlain ? subscriptions : subscriptions.union(ignored) }

    // MARK: Sending

    /// Passes each piece to the client in a separate read.
    private func write(_ pieces: [[UInt8]]) {
        for piece in pieces where channel.isActive {
            channel.pipeline.fireChannelRead(ByteBuffer(bytes: piece))
            channel.pipeline.fireChannelReadComplete()
        }
    }

    private func send(_ frame: [UInt8]) {
        if !isUpgraded || !position.isBetweenFrames { isUnderstood = false }
        position.advance(over: frame)
        write([frame])
    }

    /// Sends bytes of the input.
    func sendScripted(_ pieces: [[UInt8]]) {
        isPlain = false
        if !isUpgraded { isUnderstood = false }
        for piece in pieces { position.advance(over: piece) }
        write(pieces)
    }

    func upgrade(_ answer: [UInt8]? = nil) {
        guard !isUpgraded, let accept else { return }
        isUpgraded = true
        let usual = """
            HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: {accept}\r\n\r\n
            """
        // The input's answer may contain frames too. The server does not parse the answer, so its own messages may not
        // be whole frames afterwards.
        if answer != nil { (isPlain, isUnderstood) = (false, false) }
        write([(answer ?? Array(usual.utf8)).replacing("{accept}".utf8, with: accept.utf8)])
    }

    func greet() {
        send(
            ServerFrame.text(
                #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"\#(socketID)\",\"activity_timeout\":60}"}"#
            )
        )
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

    /// Reads the client's messages. Returns false if there are none.
    func receive(_ attention: Attention) -> Bool {
        var hasReceived = false
        while let buffer = (try? channel.readOutbound(as: ByteBuffer.self)) ?? nil {
            hasReceived = true
            let bytes = Array(buffer.readableBytesView)
            if isUpgraded || hasRequest { frames.append(bytes) } else { request += bytes }
        }
        guard attention != .stalled else { return hasReceived }
        while let frame = frames.next() {
            hasReceived = true
            take(frame, isAnswering: attention == .answering)
        }
        return hasReceived
    }

    private func take(_ frame: ClientFrames.Frame, isAnswering: Bool) {
        switch frame.opcode {
        case 1:
            guard let message = try? Envelope(decoding: frame.payload.span) else {
                return require(false, "the client sends an invalid message: \(frame.payload.text)")
            }
            check(message)
            if isAnswering {
                if let answer = answer(to: message) { send(ServerFrame.text(answer.jsonText)) }
            } else {
                ignore(message)
            }
        case 8:
            require(frame.payload.count != 1, "the client sends a close frame of one byte")
            let reason = frame.payload.dropFirst(2)
            require(
                String(validating: reason, as: UTF8.self) != nil,
                "the client sends a close reason that is not UTF-8"
            )
            guard isAnswering, !hasSentClose else { return }
            hasSentClose = true
            send(ServerFrame.bytes(0x88, frame.payload.prefix(2)))
            end()
        default: break
        }
    }

    /// Checks that a signature for one connection is not sent on another.
    private func check(_ message: Envelope) {
        guard isPlain, message.event == EventName.subscribe || message.event == EventName.signIn,
            let auth = message.data.value?["auth"]?.string, auth.hasPrefix("key:1.")
        else { return }
        require(auth == "key:\(socketID)", "the client sends the signature \(auth) on the connection \(socketID)")
    }

    /// Handles a message without an answer. An `unsubscribe` needs no answer, so the server still carries it out.
    private func ignore(_ message: Envelope) {
        let name = message.data.value?["channel"]?.string ?? ""
        switch message.event {
        case EventName.subscribe: ignored.insert(name)
        case EventName.unsubscribe:
            subscriptions.remove(name)
            ignored.remove(name)
        default: break
        }
    }

    private func answer(to message: Envelope) -> Envelope? {
        let data = message.data.value
        let name = data?["channel"]?.string ?? ""
        switch message.event {
        case EventName.ping: return .pong
        case EventName.signIn:
            let user = data?["user_data"]?.string ?? ""
            let answer: JSONValue = ["user_data": .string(user)]
            return Envelope(event: EventName.signInSuccess, data: .string(answer.jsonText))
        case EventName.subscribe:
            ignored.remove(name)
            guard subscriptions.insert(name).inserted else {
                return Self.error("Existing subscription to channel \(name)")
            }
            let isPresence = ChannelKind(ofChannelNamed: name).base == .presence
            let members: JSONValue = ["presence": ["count": 1, "ids": ["me"], "hash": ["me": nil]]]
            return Envelope(
                event: EventName.subscriptionSucceededInternal,
                channel: name,
                data: .string(isPresence ? members.jsonText : "{}")
            )
        case EventName.unsubscribe:
            ignored.remove(name)
            return subscriptions.remove(name) == nil ? Self.error("No current subscription to channel \(name)") : nil
        default: return nil
        }
    }

    private static func error(_ message: String) -> Envelope {
        let data: JSONValue = ["code": .null, "message": .string(message)]
        return Envelope(event: EventName.error, data: .json(data.jsonText))
    }
}
