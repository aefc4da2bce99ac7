import NIOCore

/// One side of a relayed connection. It passes its bytes on to the other side, subject to the faults.
final class RelayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The direction of the bytes that are read here.
    private let direction: PusherTestRelay.Directions
    private let id: Int
    private let engine: RelayEngine

    /// Called once, when the connection is active.
    var whenActive: (() -> Void)?
    /// Nil after the client's request is known, or if it does not matter.
    var upgradeFilter: UpgradeFilter?
    private var isBlocked = false
    private var context: ChannelHandlerContext?
    private var other: RelayHandler?
    /// Bytes that were read and are not passed on yet.
    private var waiting: [(bytes: ByteBuffer, due: NIODeadline)] = []
    private var waitingBytes = 0
    private var timer: Scheduled<Void>?
    private var idleTimer: Scheduled<Void>?
    /// The time when the next byte may be passed on, if bytes are passed on one by one.
    private var nextTrickle = NIODeadline.uptimeNanoseconds(0)
    private var isReadHeld = false
    private var hasEnded = false
    /// The number of bytes since the current fault was set, and the number of that fault.
    private var counted = (bytes: 0, changes: 0)

    /// The handler stops reading when this many bytes wait.
    private static let maximumWaitingBytes = 65_536
    /// The same limit for delayed bytes. It is higher, because a line with a long delay holds more bytes and must not
    /// become a slow one.
    private static let maximumDelayedBytes = 16 << 20
    private static let openingLength = 16

    private init(_ direction: PusherTestRelay.Directions, id: Int, engine: RelayEngine) {
        self.direction = direction
        self.id = id
        self.engine = engine
    }

    static func makePair(id: Int, engine: RelayEngine) -> (clientSide: RelayHandler, serverSide: RelayHandler) {
        let pair = (
            RelayHandler(.toServer, id: id, engine: engine), RelayHandler(.toClient, id: id, engine: engine)
        )
        pair.0.other = pair.1
        pair.1.other = pair.0
        return pair
    }

    private var fault: PusherTestRelay.StreamFault? { engine.setting(direction).fault }

    func faultChanged(_ directions: PusherTestRelay.Directions) {
        applyFault(directions)
        // A side that has ended has no socket any more, but may still have bytes to pass on.
        if let other, other.context == nil { other.applyFault(directions) }
    }

    private func applyFault(_ directions: PusherTestRelay.Directions) {
        guard directions.contains(direction) else { return }
        passOn()
        resumeReading()
    }

    // MARK: ChannelDuplexHandler

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        idleTimer?.cancel()
        // There is no other side to write to any more.
        other?.resumeReading()
        if other?.context == nil { letGo() }
    }

    func channelActive(context: ChannelHandlerContext) {
        let whenActive = whenActive
        self.whenActive = nil
        whenActive?()
        restartIdleTimer()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = Self.unwrapInboundIn(data)
        // This comes before the record counts the bytes: a test that sees them there sets faults for later bytes.
        let setting = engine.setting(direction)
        note(bytes)
        restartIdleTimer()
        guard !isBlocked else { return swallow(bytes.readableBytes) }
        switch upgradeFilter?.read(bytes) {
        case .undecided?: return
        case .blocked(let fault)?: return block(fault, context)
        case .allowed(let all)?:
            upgradeFilter = nil
            bytes = all
        case nil: break
        }
        if counted.changes != setting.changes { counted = (0, setting.changes) }
        switch setting.fault {
        case .swallowed?: swallow(bytes.readableBytes)
        case .delayed(let delay)?: wait(bytes, due: .now() + TimeAmount(delay))
        case .corrupted(let interval)?:
            corrupt(&bytes, every: max(interval, 1))
            wait(bytes, due: .now())
        case .held?, .trickled?, nil: wait(bytes, due: .now())
        }
        passOn()
    }

    func channelInactive(context: ChannelHandlerContext) {
        hasEnded = true
        passOn()
    }

    /// The end of the channel follows.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { isReadHeld = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        other?.passOn()
        other?.resumeReading()
    }

    // MARK: The idle limit

    /// The limit applies to the client only.
    func restartIdleTimer() {
        idleTimer?.cancel()
        idleTimer = nil
        guard direction == .toServer, context != nil, let limit = engine.idleLimit else { return }
        let (id, engine) = (id, engine)
        idleTimer = engine.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { engine.endConnection(id) }
    }

    // MARK: What goes on

    private var mayRead: Bool {
        let fault = fault
        guard fault != .held, other?.context?.channel.isWritable != false else { return false }
        if case .delayed = fault { return waitingBytes < Self.maximumDelayedBytes }
        return waitingBytes < Self.maximumWaitingBytes
    }

    private func resumeReading() {
        guard isReadHeld, mayRead else { return }
        isReadHeld = false
        context?.read()
    }

    private func wait(_ bytes: ByteBuffer, due: NIODeadline) {
        waiting.append((bytes, due))
        waitingBytes += bytes.readableBytes
    }

    /// Passes on the bytes that are due, as far as the fault and the other side allow, and then the end.
    private func passOn() {
        timer?.cancel()
        timer = nil
        let fault = fault
        while let first = waiting.first {
            switch fault {
            case .held?: return
            case .trickled(let interval)?:
                guard other?.context?.channel.isWritable != false else { return }
                let due = max(first.due, nextTrickle)
                guard due <= .now() else { return passOn(at: due) }
                nextTrickle = .now() + TimeAmount(interval)
                handOn(waiting[0].bytes.readSlice(length: 1))
                if waiting[0].bytes.readableBytes == 0 { waiting.removeFirst() }
                other?.context?.flush()
            case .swallowed?, .delayed?, .corrupted?, nil:
                // With or without a fault: earlier bytes come first, and delayed bytes when they are due.
                guard first.due <= .now() else {
                    other?.context?.flush()
                    return passOn(at: first.due)
                }
                handOn(first.bytes)
                waiting.removeFirst()
            }
        }
        other?.context?.flush()
        resumeReading()
        if hasEnded, fault != .held, fault != .swallowed { other?.end() }
    }

    private func passOn(at deadline: NIODeadline) {
        timer = engine.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [weak self] in self?.passOn() }
        resumeReading()
    }

    private func handOn(_ bytes: ByteBuffer?) {
        guard let bytes else { return }
        waitingBytes -= bytes.readableBytes
        guard let context = other?.context else { return }
        context.write(Self.wrapOutboundOut(bytes), promise: nil)
    }

    /// Ends this side after all earlier bytes have gone out, because closing does not wait for them by itself.
    private func end() {
        guard !hasEnded, let context else { return }
        let channel = context.channel
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer())).whenComplete { _ in channel.close(promise: nil) }
    }

    private func letGo() {
        timer?.cancel()
        other?.timer?.cancel()
        other?.other = nil
        other = nil
    }

    private func block(_ fault: PusherTestRelay.UpgradeFault, _ context: ChannelHandlerContext) {
        isBlocked = true
        engine.update(id) { $0.upgradeFault = fault }
        let channel = context.channel
        switch fault {
        case .swallowed: break
        case .reset:
            channel.willReset()
            channel.close(promise: nil)
        case .answered(let status):
            let head = RESTResponse(status: status, body: "").head + "Content-Length: 0\r\nConnection: close\r\n\r\n"
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: head)))
                .whenComplete { _ in channel.close(promise: nil) }
        }
    }

    private func note(_ bytes: ByteBuffer) {
        engine.update(id) { connection in
            guard direction == .toServer else {
                connection.receivedFromServer += bytes.readableBytes
                return
            }
            connection.receivedFromClient += bytes.readableBytes
            let missing = Self.openingLength - connection.openingBytes.count
            connection.openingBytes += bytes.readableBytesView.prefix(missing)
        }
    }

    private func swallow(_ count: Int) {
        engine.update(id) { $0.swallowed += count }
    }

    private func corrupt(_ bytes: inout ByteBuffer, every interval: Int) {
        let length = bytes.readableBytes
        for offset in 0..<length where (counted.bytes + offset + 1) % interval == 0 {
            let index = bytes.readerIndex + offset
            guard let byte = bytes.getInteger(at: index, as: UInt8.self) else { continue }
            bytes.setInteger(~byte, at: index)
        }
        counted.bytes += length
    }
}
