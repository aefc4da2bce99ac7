import Foundation
import Logging
import NIOCore
import PusherProtocol

/// Handing events to those who want them. All of this happens on the event loop, and never under the lock.
extension ClientEngine {
    func audience(
        of event: PusherEvent,
        _ first: ListenerRegistry,
        _ second: ListenerRegistry? = nil
    ) -> Audience { Audience(event.eventName, first, second, listenerContext) }

    /// Delivers an event of the server, by way of the ``PayloadTransformer`` if there is one, and counts it if nobody
    /// listens.
    func deliverServerEvent(_ event: PusherEvent, to audience: Audience) {
        guard transformsPayloads else { return deliverCounting(event, to: audience) }
        for event in transformed(event) { deliverCounting(event, to: audience.renamed(event.eventName)) }
    }

    private func deliverCounting(_ event: PusherEvent, to audience: Audience) {
        guard !deliver(event, to: audience), !EventName.isProtocolEvent(event.eventName) else { return }
        loopState.value.counts.unhandledEvents += 1
    }

    /// Delivers an event that the client itself makes, for example of a member who came.
    func announce(_ envelope: Envelope, on id: ChannelID, subscriptionError: SubscriptionError? = nil) {
        let event = PusherEvent(envelope, subscriptionError: subscriptionError)
        deliver(event, to: audience(of: event, clientListeners, channel(id)?.listeners))
    }

    /// - Returns: Whether somebody was there for it.
    @discardableResult
    func deliver(_ event: PusherEvent, to audience: Audience) -> Bool {
        for sequence in audience.sequences {
            switch sequence.collect(event) {
            case .submitLater: loopState.value.sequences.append(sequence)
            case .submit: for buffer in submit(to: [sequence]) { buffer.wake() }
            case .nothing: break
            }
        }
        audience.callInPlace(event)
        for queue in audience.queues { queue.collect(event, audience) }
        // While callbacks run or wait, somebody may be about to bind. If they are done, what they bound is found.
        for queue in audience.otherQueues where queue.isBusy || audience.renewed().hasCallbacks(by: queue) {
            queue.collect(event, audience)
        }
        return !audience.isEmpty
    }

    /// Hands an element to sequences, and reports those that begin to drop because of it.
    func broadcast<Element>(_ element: Element, to broadcast: Broadcast<Element>, channel: String? = nil) {
        count(broadcast.send(element), on: channel)
    }

    /// Hands an error to the sequences of errors. To those that drop errors another one is of no use.
    func publish(_ error: PusherClientError) {
        let drop = errors.send(error)
        loopState.value.counts.sequenceOverflows += drop.count
        if drop.began > 0 { tell(self.error(drop.began, on: nil)) }
    }

    /// Counts what sequences drop, and reports those that begin to.
    func count(_ drop: Drop, on channel: String? = nil) {
        guard drop.count > 0 else { return }
        loopState.value.counts.sequenceOverflows += drop.count
        guard drop.began > 0 else { return }
        let error = error(drop.began, on: channel)
        tell(error)
        publish(error)
    }

    /// Callbacks were dropped. What tells of it must not cost others.
    func callbacksDropped(_ drop: CallbackDispatcher.Drop) {
        let message =
            switch drop {
            case .began: "callbacks are being dropped: the callback queue is slower than they come"
            case .ended(let count): "\(count) callbacks were dropped; the callback queue has caught up"
            }
        let error = PusherClientError(.eventsDropped, message)
        // It may be the callback queue that is here.
        eventLoop.execute {
            self.tell(error, keep: .outcomes)
            self.publish(error)
            self.endDelivery()
            self.publishCounts()
        }
    }

    private func tell(_ error: PusherClientError, keep retention: CallbackDispatcher.Retention = .newest) {
        logger.warning("\(error.message)")
        let reported = PusherError(error)
        notify(keep: retention) { $0.receivedError(error: reported) }
    }

    private func error(_ sequences: Int, on channel: String?) -> PusherClientError {
        PusherClientError(
            .eventsDropped,
            """
            \(sequences) sequences keep only the newest \(limits.sequenceBuffer) elements or \
            \(limits.listenerBufferSize) bytes: they are read more slowly than elements come
            """,
            channelName: channel
        )
    }

    /// Hands over an event that came before. It may be called anywhere.
    func deliverAgain(_ event: PusherEvent, to first: ListenerRegistry, _ second: ListenerRegistry? = nil) {
        eventLoop.execute {
            self.deliver(event, to: self.audience(of: event, first, second))
            self.endDelivery()
            self.publishCounts()
        }
    }

    /// Lets the consumers of sequences and the queues of callbacks go on. Called after all that comes together was
    /// delivered, so that they do not compete for it with the event loop.
    func endDelivery() {
        for dispatcher in dispatchers { dispatcher.submit(for: self) }
        guard !loopState.value.sequences.isEmpty else { return }
        let sequences = loopState.value.sequences
        loopState.value.sequences = []
        for buffer in submit(to: sequences) { buffer.wake() }
    }

    /// Returns the buffers for whose events somebody waits.
    private func submit(to sequences: [SequenceListener]) -> [EventBuffer<PusherEvent>] {
        var toWake: [EventBuffer<PusherEvent>] = []
        var drops: [String?: Drop] = [:]
        for sequence in sequences {
            guard let (addition, channelName) = sequence.submit() else { continue }
            if addition.mustWake { toWake.append(sequence.buffer) }
            if addition.mustAwait { pauseReading(for: sequence.buffer) }
            if addition.drop.count > 0 { drops[channelName, default: Drop()].add(addition.drop) }
        }
        for (channelName, drop) in drops { count(drop, on: channelName) }
        if !drops.isEmpty { publishCounts() }
        return toWake
    }

    // MARK: The payload transformer

    /// What is delivered for an event of a channel.
    func transformed(_ event: PusherEvent) -> [PusherEvent] {
        guard let transformer = options.payloadTransformer, let channelName = event.channelName,
            !EventName.isProtocolEvent(event.eventName)
        else { return [event] }
        let payload = EventPayload(
            eventName: event.eventName,
            data: event.data,
            channelName: channelName,
            userId: event.userId
        )
        // Taken out: what it keeps would be copied as soon as it changes.
        var reader =
            loopState.value.payloadReaders.removeValue(forKey: channelName)
            ?? transformer.makeReader(channelName: channelName)
        defer { loopState.value.payloadReaders[channelName] = reader }
        do {
            return try reader.incoming(payload).map { changed in
                changed.hasBytes(of: payload) ? event : PusherEvent(event, carrying: changed)
            }
        } catch {
            loopState.value.counts.untransformedEvents += 1
            report(.transformerThrew(error, "the event \(event.eventName.quoted) was not delivered", channelName))
            return []
        }
    }

    /// Nothing is left over from what came before.
    func forgetPayloads(of channelName: String) {
        loopState.value.payloadReaders[channelName] = nil
    }

    /// The same for the own channels of all users.
    func forgetPayloadsOfUsers() {
        loopState.value.payloadReaders = loopState.value.payloadReaders.filter {
            !$0.key.hasPrefix(ChannelName.serverToUserPrefix)
        }
    }

    // MARK: Binding

    /// - Parameters:
    ///   - name: The event's name; nil for every event.
    ///   - listeners: Those of a channel, of the client or of the user.
    ///   - dispatcher: What runs the callback; `nil` for the queue of the options.
    /// - Returns: The callback's id. If there are too many, that is reported, and the id belongs to no callback.
    func bind(
        _ name: String?,
        to listeners: ListenerRegistry,
        by dispatcher: CallbackDispatcher? = nil,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) -> String {
        listeners.bind(name, by: dispatcher ?? self.dispatcher, callback)
            ?? reportUnbound(name.map { "the event \($0.quoted)" } ?? "every event")
    }

    /// - Returns: The id of no callback.
    func reportUnbound(_ what: String) -> String {
        let error = PusherClientError(
            .tooManyBindings,
            """
            a callback was not bound to \(what): \(limits.bindings) are bound to the same object already, and \
            limits.bindings allows no more. Unbind callbacks that are not needed, or use observe(…)
            """
        )
        step { state, _ in state.pending.append(.report(error)) }
        return callbackIDs.next()
    }
}
