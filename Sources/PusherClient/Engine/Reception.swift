import Logging
import NIOCore
import PusherProtocol
import RealtimePrimitives

/// What one connection brings. Only the event loop touches it.
///
/// An event that changes nothing is delivered as soon as its bytes are seen: the fast way. For that the reception claims the
/// funnel, once for all such events of a read, so that nothing else has effects meanwhile. The first message that is not
/// ordinary ends the claim, and what comes after it in the same read takes the careful way: all of it goes through the
/// machine together, at the end of the read.
final class Reception {
    private let engine: ClientEngine
    private let id: AttemptID
    private let routes: RouteTable
    private var text = UnescapedText()
    /// The messages of this read that take the careful way.
    private var messages: [Envelope] = []
    /// In bytes.
    private var size = 0
    private var hasClaim = false
    /// Of the events of the claim.
    private var counts = DeliveryCounts()

    init(_ id: AttemptID, _ engine: ClientEngine) {
        self.id = id
        self.engine = engine
        routes = engine.loopState.value.routes
    }

    func received(_ event: TransportEvent) {
        if case .text(let bytes) = event { return receive(bytes) }
        // Nothing that the last messages lead to is for a socket that is about to say how it ended.
        if case .closed = event { engine.connectionEnded(id) }
        endRead()
        switch event {
        case .text, .readComplete:
            break
        case .activity:
            engine.step { [id] state, now in state.machine.activity(on: id, now: now, into: &state.pending) }
        case .opened:
            engine.step { [id] state, now in state.machine.opened(id, now: now, into: &state.pending) }
        case .binary(let buffer):
            malformed(
                "the server sent a binary message of \(buffer.readableBytes) bytes; the protocol has none",
                size: buffer.readableBytes
            )
        case .closed(let closure):
            engine.step { [id] state, now in state.machine.closed(id, closure, now: now, into: &state.pending) }
        }
    }

    private func receive(_ bytes: Span<UInt8>) {
        guard let message = PlainMessage(scanning: bytes, unescapingInto: &text) else { return decode(bytes) }
        if engine.tracesMessages { engine.trace("Received", message.envelope(of: bytes, text), String(utf8: bytes)) }
        guard !deliver(message, of: bytes) else { return }
        keep(message.envelope(of: bytes, text), of: bytes)
    }

    private func endRead() {
        text.releaseMemory()
        endClaim()
        guard !messages.isEmpty else { return }
        var (messages, size) = ([Envelope](), 0)
        swap(&messages, &self.messages)
        swap(&size, &self.size)
        engine.receive(messages, size: size, on: id)
    }

    // MARK: The fast way

    /// Delivers a message, if it is an ordinary event. Otherwise the claim is over when it returns.
    private func deliver(_ message: PlainMessage, of bytes: Span<UInt8>) -> Bool {
        guard messages.isEmpty, hasClaim || claim() else { return false }
        guard let route = route(for: message, of: bytes) else {
            endClaim()
            return false
        }
        let event = PusherEvent(
            eventName: route.eventName,
            channelName: route.channelName,
            data: message.data(in: text),
            userID: message.userID(in: bytes)
        )
        counts.messagesReceived &+= 1
        counts.bytesReceived &+= bytes.count
        counts.eventsDelivered &+= 1
        engine.deliverServerEvent(event, to: route.audience)
        return true
    }

    private func claim() -> Bool {
        hasClaim = engine.claim(id)
        if hasClaim { engine.loopState.value.claimant = self }
        return hasClaim
    }

    func takeCounts() -> DeliveryCounts {
        defer { counts = DeliveryCounts() }
        return counts
    }

    private func endClaim() {
        guard hasClaim else { return }
        hasClaim = false
        engine.loopState.value.counts.add(takeCounts())
        engine.loopState.value.claimant = nil
        engine.drain()
    }

    /// Returns the route of an ordinary event, and `nil` for any other message, or if effects wait that come before it.
    private func route(for message: PlainMessage, of bytes: Span<UInt8>) -> Route? {
        if let route = routes.route(for: message, of: bytes) {
            if route.audience.isCurrent { return route }
            guard let audience = engine.audience(ofEvent: route.eventName, on: route.channelName, id) else {
                return nil
            }
            route.audience = audience
            return route
        }
        // The table must not grow by the length of names too.
        guard message.event.count <= EventName.maximumLength, message.channel.count <= ChannelName.maximumLength else {
            return nil
        }
        let names = message.names(in: bytes)
        guard let audience = engine.audience(ofEvent: names.event, on: names.channel, id) else { return nil }
        let route = Route(eventName: names.event, channelName: names.channel, audience)
        routes.add(route, for: message, of: bytes)
        return route
    }

    // MARK: The careful way

    private func decode(_ bytes: Span<UInt8>) {
        do {
            let message = try Envelope(decoding: bytes)
            if engine.tracesMessages { engine.trace("Received", message, String(utf8: bytes)) }
            keep(message, of: bytes)
        } catch {
            if engine.tracesMessages {
                let message = String(utf8: bytes).escapingControls
                engine.logger.trace("Received", metadata: ["pusher.message": "\(message)"])
            }
            endRead()
            malformed("the server sent \(bytes.count) bytes that are no message: \(error)", size: bytes.count)
        }
    }

    private func keep(_ message: consuming Envelope, of bytes: Span<UInt8>) {
        messages.append(message)
        size += bytes.count
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
