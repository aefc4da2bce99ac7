import Atomics
import Logging
import NIOCore
import PusherProtocol
import RealtimePrimitives

/// The receiver of all events from one connection's transport. Only the event loop uses the receiver.
///
/// On the fast path, the receiver scans the bytes of an ordinary event, and delivers the event at once. The receiver
/// begins direct delivery for such events, so that the engine carries out no other effects meanwhile. All other messages
/// take the slow path, through the machine. The slow path ends direct delivery. The receiver collects the messages of the
/// slow path. It gives them to the machine when an ordinary event with a known route arrives, when any message arrives
/// after ``batchSize`` bytes, or when the read ends.
final class MessageReceiver {
    private let engine: ClientEngine
    private let id: AttemptID
    private let routes: RouteTable
    private let changes: ChangeCount
    private var text = UnescapedText()
    /// The messages of this read that take the slow path.
    private var messages: [Envelope] = []
    private var size = 0
    /// The size in bytes after which the next message makes the machine get the collected messages. The size is small,
    /// so that the messages are still in the processor's cache.
    private static let batchSize = 16_384
    private var deliversDirectly = false
    /// Whether the receiver is in the middle of a message, whose data is in `text`.
    private var isReceiving = false
    /// The counts of the events that were delivered directly.
    private var counts = DeliveryCounts()

    init(_ id: AttemptID, _ engine: ClientEngine) {
        self.id = id
        self.engine = engine
        routes = engine.loopState.value.routes
        changes = engine.listenerContext.changes
    }

    func received(_ event: TransportEvent) {
        if case .text(let bytes) = event { return receive(bytes) }
        var ended: (any TransportConnection)?
        if case .closed = event {
            // Without a connection, full buffers drop elements. So the engine delivers the events of the last read
            // before it removes the connection.
            engine.endDelivery()
            // Effects of the last messages must not write to a closed socket.
            ended = engine.connectionEnded(id)
        }
        endRead()
        switch event {
        case .text, .readComplete:
            break
        case .activity:
            engine.step { [id] state, now in state.machine.frameReceived(on: id, now: now, into: &state.pending) }
        case .opened:
            let transport = engine.loopState.value.connections[id]?.report ?? TransportReport(.webSocket)
            engine.step { [id] state, now in
                state.machine.opened(id, over: transport, now: now, into: &state.pending)
            }
        case .retryAfter(let delay):
            engine.step { [id] state, _ in state.machine.received(retryAfter: delay, on: id) }
        case .binary(let buffer):
            malformed(
                "Malformed message: the server sent a binary message of \(buffer.readableBytes) bytes, but only text is allowed.",
                size: buffer.readableBytes
            )
        case .closed(let closure):
            let wasSuspended = engine.step { [id] state, now in
                defer { state.machine.closed(id, closure, now: now, into: &state.pending) }
                return state.machine.wasSuspended(now: now)
            }
            if closure.isInterruption, !wasSuspended { ended?.noteLoss() }
        }
    }

    private func receive(_ bytes: Span<UInt8>) {
        // The machine gets a large message here or at the end of the read, when the message's bytes are no longer in
        // memory. The machine needs memory for the values of the message.
        if size >= Self.batchSize { handOver() }
        isReceiving = true
        defer { isReceiving = false }
        guard let message = PlainMessage(scanning: bytes, unescapingInto: &text) else { return decode(bytes) }
        if engine.tracesMessages { engine.trace("Received", message.envelope(of: bytes, text), String(utf8: bytes)) }
        guard !deliver(message, of: bytes) else { return }
        collect(message.envelope(of: bytes, text), of: bytes)
    }

    private func endRead() {
        // If effects close the connection during the read of a message, this method runs before the message is
        // complete.
        if !isReceiving { text.releaseMemory() }
        endDirectDelivery()
        handOver()
        engine.endTurn()
    }

    // MARK: The fast path

    /// Delivers a message, if it is an ordinary event.
    private func deliver(_ message: PlainMessage, of bytes: Span<UInt8>) -> Bool {
        let known = routes.route(for: message, of: bytes)
        if !messages.isEmpty {
            guard known != nil else { return false }
            handOver()
        }
        // Effects of callbacks and other threads must take place before the delivery of the event.
        if engine.hasPendingEffects.load(ordering: .acquiring) { endDirectDelivery() }
        guard deliversDirectly || beginDirectDelivery() else { return false }
        if let known, known.count == changes.value {
            deliver(message, of: bytes, by: known)
            return true
        }
        guard let route = route(known, for: message, of: bytes) else { return false }
        deliver(message, of: bytes, by: route)
        return true
    }

    @inline(__always)
    private func deliver(_ message: PlainMessage, of bytes: Span<UInt8>, by route: Route) {
        counts.addEvent(size: bytes.count)
        let event = PusherEvent(
            eventName: route.eventName,
            channelName: route.channelName,
            data: message.data(in: text),
            userID: message.userID(in: bytes),
            decoding: engine.decoding
        )
        if let callback = route.onlyCallback, !engine.transformsPayloads {
            callback.call(event)
        } else {
            engine.deliverServerEvent(event, to: route.recipients)
        }
    }

    private func beginDirectDelivery() -> Bool {
        deliversDirectly = engine.beginDirectDelivery(id)
        if deliversDirectly { engine.loopState.value.directReceiver = self }
        return deliversDirectly
    }

    private func endDirectDelivery() {
        guard deliversDirectly else { return }
        deliversDirectly = false
        engine.loopState.value.counts.add(takeCounts())
        engine.loopState.value.directReceiver = nil
        engine.carryOut()
    }

    /// Whether the connection was closed in the middle of this read. In this case, no event reports the end of the
    /// read.
    private var hasEnded: Bool { engine.loopState.value.connections[id] == nil }

    func takeCounts() -> DeliveryCounts {
        defer { counts = DeliveryCounts() }
        return counts
    }

    /// Looks up the route of an ordinary event. Returns `nil` for any other message.
    private func route(_ known: Route?, for message: PlainMessage, of bytes: Span<UInt8>) -> Route? {
        let names = known.map { ($0.eventName, $0.channelName) } ?? message.names(in: bytes)
        guard let recipients = engine.recipients(ofEvent: names.0, on: names.1, id) else { return nil }
        if let known {
            known.update(recipients)
            return known
        }
        let route = Route(eventName: names.0, channelName: names.1, recipients)
        // Long names must not make the memory of the table grow without limit.
        if message.event.count <= EventName.maximumLength, message.channel.count <= ChannelName.maximumLength {
            routes.add(route, for: message, of: bytes)
        }
        return route
    }

    // MARK: The slow path

    private func decode(_ bytes: Span<UInt8>) {
        do {
            let message = try Envelope(decoding: bytes)
            if engine.tracesMessages { engine.trace("Received", message, String(utf8: bytes)) }
            collect(message, of: bytes)
        } catch {
            if engine.tracesMessages {
                let message = String(utf8: bytes).escapingControls
                engine.logger.trace("Received", metadata: ["pusher.message": "\(message)"])
            }
            endRead()
            malformed(
                "Malformed message of \(bytes.count) bytes: \(error).",
                size: bytes.count
            )
        }
    }

    private func collect(_ message: consuming Envelope, of bytes: Span<UInt8>) {
        // During direct delivery, the effects of these messages would wait for the next ordinary event.
        endDirectDelivery()
        messages.append(message)
        size += bytes.count
        if hasEnded { handOver() }
    }

    /// Gives the collected messages to the machine.
    private func handOver() {
        guard !messages.isEmpty else { return }
        var (messages, size) = ([Envelope](), 0)
        swap(&messages, &self.messages)
        swap(&size, &self.size)
        engine.receive(messages, size: size, on: id)
        if hasEnded { engine.endTurn() }
    }

    private func malformed(_ message: String, size: Int) {
        let error = PusherClientError(.malformedMessage, message)
        engine.step { [id] state, now in
            state.counts.messagesReceived += 1
            state.counts.bytesReceived += size
            state.machine.receivedMalformed(error, on: id, now: now, into: &state.pending)
        }
    }
}
