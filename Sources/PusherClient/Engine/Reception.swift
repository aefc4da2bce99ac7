import Atomics
import Logging
import NIOCore
import PusherProtocol
import RealtimePrimitives

/// Receives the events of one connection's transport. Used on the event loop only.
///
/// The fast way: an event that changes no state is delivered as soon as its bytes are scanned. For that, the reception
/// claims the funnel, so that no other effects are carried out meanwhile. All other messages take the slow path,
/// through the machine. It ends the claim. The message is collected with those that follow, until the next event that
/// is known to be ordinary, or until the end of the read.
final class Reception {
    private let engine: ClientEngine
    private let id: AttemptID
    private let routes: RouteTable
    private let changes: ChangeCount
    private var text = UnescapedText()
    /// The messages of this read that take the slow path.
    private var messages: [Envelope] = []
    /// In bytes.
    private var size = 0
    private var hasClaim = false
    /// Whether a message is being scanned, whose data is in `text`.
    private var isReceiving = false
    /// The counts of the events of the claim.
    private var counts = DeliveryCounts()

    init(_ id: AttemptID, _ engine: ClientEngine) {
        self.id = id
        self.engine = engine
        routes = engine.loopState.value.routes
        changes = engine.changes
    }

    func received(_ event: TransportEvent) {
        if case .text(let bytes) = event { return receive(bytes) }
        if case .closed = event {
            // While there is a connection, full buffers keep everything from the last read.
            engine.endDelivery()
            // Effects of the last messages must not write to a socket that has ended.
            engine.connectionEnded(id)
        }
        endRead()
        switch event {
        case .text, .readComplete:
            break
        case .activity:
            engine.step { [id] state, now in state.machine.activity(on: id, now: now, into: &state.pending) }
        case .opened:
            let transport = engine.loopState.value.connections[id]?.report ?? TransportReport(.webSocket)
            engine.step { [id] state, now in
                state.machine.opened(id, over: transport, now: now, into: &state.pending)
            }
        case .binary(let buffer):
            malformed(
                "Malformed message: the server sent \(buffer.readableBytes) bytes as binary, which the protocol does not have.",
                size: buffer.readableBytes
            )
        case .closed(let closure):
            engine.step { [id] state, now in state.machine.closed(id, closure, now: now, into: &state.pending) }
        }
    }

    private func receive(_ bytes: Span<UInt8>) {
        isReceiving = true
        defer { isReceiving = false }
        guard let message = PlainMessage(scanning: bytes, unescapingInto: &text) else { return decode(bytes) }
        if engine.tracesMessages { engine.trace("Received", message.envelope(of: bytes, text), String(utf8: bytes)) }
        guard !deliver(message, of: bytes) else { return }
        collect(message.envelope(of: bytes, text), of: bytes)
    }

    private func endRead() {
        // Effects in the middle of a message can end the connection, which is reported at once.
        if !isReceiving { text.releaseMemory() }
        endClaim()
        handOver()
        engine.endTurn()
    }

    // MARK: The fast way

    /// Delivers a message, if it is an ordinary event. If it returns `false`, there is no claim.
    private func deliver(_ message: PlainMessage, of bytes: Span<UInt8>) -> Bool {
        let known = routes.route(for: message, of: bytes)
        if !messages.isEmpty {
            guard known != nil else { return false }
            handOver()
        }
        // Effects of callbacks and other threads are carried out before the event.
        if engine.hasPendingEffects.load(ordering: .acquiring) { endClaim() }
        guard hasClaim || claim() else { return false }
        if let known, known.count == changes.value {
            deliver(message, of: bytes, by: known)
            return true
        }
        guard let route = route(known, for: message, of: bytes) else {
            endClaim()
            return false
        }
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
            userID: message.userID(in: bytes)
        )
        if let callback = route.onlyCallback, !engine.transformsPayloads {
            callback.call(event)
        } else {
            engine.deliverServerEvent(event, to: route.audience)
        }
    }

    private func claim() -> Bool {
        hasClaim = engine.claim(id)
        if hasClaim { engine.loopState.value.claimant = self }
        return hasClaim
    }

    private func endClaim() {
        guard hasClaim else { return }
        hasClaim = false
        engine.loopState.value.counts.add(takeCounts())
        engine.loopState.value.claimant = nil
        engine.carryOut()
        if hasEnded { engine.endTurn() }
    }

    /// Whether the end of this read will not be reported, because the connection ended in the middle of it.
    private var hasEnded: Bool { engine.loopState.value.connections[id] == nil }

    func takeCounts() -> DeliveryCounts {
        defer { counts = DeliveryCounts() }
        return counts
    }

    /// Looks up the route of an ordinary event. Returns `nil` for any other message.
    private func route(_ known: Route?, for message: PlainMessage, of bytes: Span<UInt8>) -> Route? {
        let names = known.map { ($0.eventName, $0.channelName) } ?? message.names(in: bytes)
        guard let audience = engine.audience(ofEvent: names.0, on: names.1, id) else { return nil }
        if let known {
            known.update(audience)
            return known
        }
        let route = Route(eventName: names.0, channelName: names.1, audience)
        // Names must not make the table grow without limit either.
        if message.event.count <= EventName.maximumLength, message.channel.count <= ChannelName.maximumLength {
            routes.add(route, for: message, of: bytes)
        }
        return route
    }

    // MARK: The careful way

    private func decode(_ bytes: Span<UInt8>) {
        do {
            let message = try Envelope(decoding: bytes)
            if engine.tracesMessages { engine.trace("Received", message, String(utf8: bytes)) }
            endClaim()
            collect(message, of: bytes)
        } catch {
            if engine.tracesMessages {
                let message = String(utf8: bytes).escapingControls
                engine.logger.trace("Received", metadata: ["pusher.message": "\(message)"])
            }
            endRead()
            malformed(
                "Malformed message: the server sent \(bytes.count) bytes that are not a message: \(error).",
                size: bytes.count
            )
        }
    }

    private func collect(_ message: consuming Envelope, of bytes: Span<UInt8>) {
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
