import NIOCore
import RealtimeTestHTTP

/// One side of a relayed connection. The handler passes received bytes on to the other side, as the faults allow.
final class RelayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The direction of the bytes that this handler reads.
    private let direction: PusherTestRelay.Directions
    private let id: Int
    private let engine: RelayEngine

    /// A closure that the handler calls once, when the connection is active.
    var whenActive: (() -> Void)?
    /// The filter for the client's first request. Nil after the filter has allowed the request, and if there is no
    /// upgrade fault.
    var upgradeFilter: UpgradeFilter?
    private var isBlocked = false
    private var context: ChannelHandlerContext?
    private var other: RelayHandler?
    /// The bytes that the handler has read and not passed on yet.
    private var waiting: [(bytes: ByteBuffer, due: NIODeadline)] = []
    private var waitingBytes = 0
    private var timer: Scheduled<Void>?
    private var idleTimer: Scheduled<Void>?
    /// The time of the next byte, if the relay passes bytes on one by one.
    private var nextTrickle = NIODeadline.uptimeNanoseconds(0)
    private var isReadHeld = false
    private var hasEnded = false
    /// The number of bytes since the last change of the fault, and the number of changes so far.
    private var counted = (bytes: 0, changes: 0)

    /// The handler stops reading when this many bytes wait.
    private static let maximumWaitingBytes = 65_536
    /// The limit for delayed bytes. This limit is higher, because a long delay must not reduce the bandwidth.
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
        // The engine calls this method only for sides with an open socket. The other side may have bytes to pass on
        // even if it has no socket.
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
        // The other side may be waiting for this side to accept bytes, so let the other side read again.
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
        // Read the setting before the record counts the bytes. If a test sees the bytes in the record and then sets a
        // fault, the fault must apply only to later bytes.
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

    /// Closes the channel after an error.
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

    /// Restarts the timer of the idle limit, which applies to the client only.
    func restartIdleTimer() {
        idleTimer?.cancel()
        idleTimer = nil
        guard direction == .toServer, context != nil, let limit = engine.idleLimit else { return }
        let (id, engine) = (id, engine)
        idleTimer = engine.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { engine.endConnection(id) }
    }

    // MARK: Passing bytes on

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

    /// Passes on the bytes that are due, if the fault and the other side allow it. Afterwards, passes on the end of the
    /// connection.
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
                // With any fault, the handler first passes on earlier bytes. The handler passes on delayed bytes when
                // they are due.
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

    /// Closes this side after all earlier bytes were sent, because closing does not wait for unsent bytes.
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
            channel.write(HTTPTestResponse(status: status), isLast: true, hasBody: false)
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
