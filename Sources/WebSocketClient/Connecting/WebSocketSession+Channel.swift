import NIOCore

extension WebSocketSession: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch stage {
        case .open, .closing:
            if isReadingFrames { return unreadBytes.append(unwrapInboundIn(data)) }
            reader.append(unwrapInboundIn(data))
            readFrames()
        case .upgrading:
            var bytes = unwrapInboundIn(data)
            readUpgrade(&bytes)
        case .connecting, .lingering, .ended:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if hasUnflushedPong {
            hasUnflushedPong = false
            context.flush()
        }
        switch stage {
        case .open, .closing:
            if hasReadInPart {
                hasReadInPart = false
                receive?(.activity)
            }
            receive?(.readComplete)
        case .connecting, .upgrading, .lingering, .ended:
            break
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        if let payload = unansweredPing {
            unansweredPing = nil
            answerPing(payload)
            context.flush()
        }
        sendWaiting()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if failure == nil { failure = error }
        closeSocket()
    }

    func channelInactive(context: ChannelHandlerContext) {
        switch stage {
        case .connecting, .upgrading: upgradeFailed()
        case .open: end(WebSocketClosure(code: nil, error: ConnectionFailure.lost(request, failure)))
        case .closing: end(WebSocketClosure(code: nil))
        case .lingering, .ended: end(nil)
        }
        context.fireChannelInactive()
    }
}

extension WebSocketSession {
    private func readUpgrade(_ bytes: inout ByteBuffer) {
        do {
            guard try upgrade?.read(&bytes) == true else {
                // The rest of a refusal must not delay its report for long.
                if upgrade?.isRefused == true { startClosingTimer() }
                return reportRefusal()
            }
        } catch {
            reportRefusal()
            return end(WebSocketClosure(code: nil, error: error))
        }
        let subprotocol = upgrade?.subprotocol
        #if Compression
            if let agreement = upgrade?.agreement { beginCompression(agreement) }
        #endif
        upgrade = nil
        stage = .open
        receive?(.opened(subprotocol: subprotocol))
        guard bytes.readableBytes > 0 else { return }
        reader.append(bytes)
        readFrames()
    }

    private func reportRefusal() {
        if let refusal = upgrade?.takeRefusal() { receive?(.refused(refusal)) }
    }

    /// Reads the received frames, and reports them to the receiver. While the receiver handles an event, it can close
    /// or abort the connection.
    private func readFrames() {
        isReadingFrames = true
        defer {
            isReadingFrames = false
            unreadBytes = []
        }
        var isInPart = true
        // Reading a property of an object takes as long as reading a short frame. So the code moves the reader into a
        // local variable.
        var reader = WebSocketFrameReader(maximumMessageSize: 0)
        swap(&reader, &self.reader)
        while let receive {
            reader.readTexts { text in
                isInPart = false
                receive(.text(text))
                return self.receive != nil
            }
            guard self.receive != nil else { break }
            do {
                guard let output = try reader.next() else {
                    guard !unreadBytes.isEmpty else { break }
                    reader.append(unreadBytes.removeFirst())
                    continue
                }
                isInPart = false
                handle(output, receive)
            } catch {
                violated(error)
            }
        }
        // If `receive` is nil, the connection has already released its reader.
        if receive != nil { swap(&reader, &self.reader) }
        hasReadInPart = isInPart
    }

    private func handle(_ output: WebSocketFrameReader.Output, _ receive: (WebSocketEvent) -> Void) {
        switch output {
        case .text(let payload): receive(.text(payload.readableBytesUInt8Span))
        case .binary(let payload): receive(.binary(payload))
        case .compressed(let payload, let isText): readCompressed(payload, isText: isText, receive)
        case .fragment: receive(.activity)
        case .pong(let payload): receive(.pong(payload))
        case .ping(let payload):
            answerPing(payload)
            receive(.activity)
        case .close(let code, let reason):
            peerClosed(code, reason: reason)
        }
    }

    private func answerPing(_ payload: ByteBuffer) {
        guard case .open = stage, let context else { return }
        guard context.channel.isWritable else {
            // Unsent answers must not accumulate. The client has to answer only the latest ping (RFC 6455, 5.5.3).
            unansweredPing = payload
            return
        }
        writeFrame(writer.frame(.pong, payload, allocator: context.channel.allocator))
        hasUnflushedPong = true
    }
}
