import Foundation
import Logging
import NIOCore
import PusherProtocol

/// Delivers events to their listeners, on the event loop and never under the lock.
extension ClientEngine {
    func recipients(
        of event: PusherEvent,
        _ first: ListenerRegistry,
        _ second: ListenerRegistry? = nil
    ) -> EventRecipients {
        let routes = loopState.value.routes
        if let last = routes.lastRecipients, last.isCurrent(for: event.eventName, first, second) { return last }
        let recipients = EventRecipients(event.eventName, first, second, listenerContext)
        routes.lastRecipients = recipients
        return recipients
    }

    /// Forgets the last recipients, which retains listeners that the app may release at any time. Releasing them may call
    /// the client, so the method does it after the change.
    func forgetRecipients() {
        let routes = loopState.value.routes
        let recipients = routes.lastRecipients
        routes.lastRecipients = nil
        withExtendedLifetime(recipients) {}
    }

    /// Delivers an event of the server through the app's ``PayloadTransformer``, if any, and counts the event if it has
    /// no listener.
    func deliverServerEvent(_ event: PusherEvent, to recipients: EventRecipients) {
        guard transformsPayloads else { return deliverCounting(event, to: recipients) }
        for event in transformed(event) { deliverCounting(event, to: recipients.renamed(event.eventName)) }
    }

    private func deliverCounting(_ event: PusherEvent, to recipients: EventRecipients) {
        guard !deliver(event, to: recipients), !EventName.isProtocolEvent(event.eventName) else { return }
        loopState.value.counts.unhandledEvents += 1
        logUnheard(event)
    }

    /// Counts and logs events that nobody listens to.
    func countUnhandled(_ events: [PusherEvent]) {
        loopState.value.counts.unhandledEvents += events.count
        for event in events { logUnheard(event) }
    }

    /// Counts and logs the events that waited for a listener of a retired channel. Any thread may call this method.
    func dropped(_ events: [PusherEvent]) {
        guard !events.isEmpty else { return }
        update { $0.counts.unhandledEvents += events.count }
        eventLoop.execute { for event in events { self.logUnheard(event) } }
    }

    /// Writes a line to the debug log for the first event of a name that nobody listens to.
    private func logUnheard(_ event: PusherEvent) {
        guard let channelName = event.channelName, loopState.value.unheardNames.insert(event.eventName) else { return }
        let name = event.eventName.prefix(fittingUTF8Bytes: EventName.maximumLength)
        debug("nobody listens to the event \(name.quoted), which arrived on \(channelName.quoted)")
    }

    /// Delivers an event of the protocol without the app's transformer, for example the event for a new member.
    func announce(_ envelope: Envelope, on channel: PusherChannel?, subscriptionError: SubscriptionError? = nil) {
        let event = PusherEvent(envelope, decoding: decoding, subscriptionError: subscriptionError)
        deliver(event, to: recipients(of: event, clientListeners, channel?.listeners))
    }

    /// Delivers an event. Returns whether there was a listener, or whether the event waits for one.
    @discardableResult
    func deliver(_ event: PusherEvent, to recipients: EventRecipients) -> Bool {
        if recipients.isHeld {
            guard let unhandled = recipients.hold(event) else {
                return deliver(event, to: recipients.renamed(event.eventName))
            }
            countUnhandled(unhandled)
        }
        for sequence in recipients.sequences {
            switch sequence.collect(event) {
            case .submitLater: loopState.value.sequences.append(sequence)
            case .submit: for buffer in submit(to: [sequence]) { buffer.wake() }
            case .nothing: break
            }
        }
        recipients.callInPlace(event)
        for queue in recipients.queues { queue.collect(event, recipients) }
        // The callbacks of a busy queue may be about to bind other callbacks, so a busy queue always gets the event.
        // For an idle queue, the lookup finds all callbacks.
        for queue in recipients.otherQueues where queue.isBusy || recipients.renewed().hasCallbacks(by: queue) {
            queue.collect(event, recipients)
        }
        return recipients.isHeld || !recipients.isEmpty
    }

    /// Adds an element to sequences, and reports sequences that begin to drop elements because of this element.
    func broadcast<Element>(_ element: Element, to broadcast: Broadcast<Element>, channel: String? = nil) {
        count(broadcast.send(element), on: channel)
    }

    /// Adds an error to the sequences of errors. Sequences that drop errors do not get another error about the drop.
    func publish(_ error: PusherClientError) {
        let drop = errors.send(error)
        loopState.value.counts.sequenceOverflows += drop.count
        if drop.began > 0 { tell(self.error(drop.began, on: nil)) }
    }

    /// Counts the elements that sequences drop, and reports the sequences that begin to drop.
    func count(_ drop: Drop, on channel: String? = nil) {
        guard drop.count > 0 else { return }
        loopState.value.counts.sequenceOverflows += drop.count
        guard drop.began > 0 else { return }
        let error = error(drop.began, on: channel)
        tell(error)
        publish(error)
    }

    /// Reports that callbacks were dropped. The report must not displace other callbacks.
    func callbacksDropped(_ drop: CallbackDispatcher.Drop) {
        let message =
            switch drop {
            case .began: "Callbacks dropped: events arrive faster than the callback queue handles them."
            case .ended(let count): "Callbacks dropped: \(count). The callback queue has caught up."
            }
        let error = PusherClientError(.eventsDropped, message)
        // This method may run on the callback queue.
        eventLoop.execute {
            self.tell(error, keep: .outcomes)
            self.publish(error)
            self.endDelivery()
            self.publishCounts()
        }
    }

    func tell(_ error: PusherClientError, keep retention: CallbackDispatcher.Retention = .newest) {
        logger.warning("\(error.message)")
        let reported = PusherError(error)
        notify(keep: retention) { $0.receivedError(error: reported) }
    }

    private func error(_ sequences: Int, on channel: String?) -> PusherClientError {
        PusherClientError(
            .eventsDropped,
            """
            Events dropped: \(sequences) sequences are read more slowly than elements arrive. Each keeps the newest \
            \(limits.sequenceBuffer) elements or \(limits.listenerBufferSize) bytes.
            """,
            channelName: channel
        )
    }

    /// Delivers an event again. Any thread may call this method.
    func deliverAgain(_ event: PusherEvent, to first: ListenerRegistry, _ second: ListenerRegistry? = nil) {
        eventLoop.execute {
            self.deliver(event, to: self.recipients(of: event, first, second))
            self.forgetRecipients()
            self.endDelivery()
            self.publishCounts()
        }
    }

    /// Wakes the consumers of sequences and the queues of callbacks. Call this method after the delivery of all events
    /// of a read, so that consumers do not compete with the event loop for a processor.
    func endDelivery() {
        listenerContext.forEachDispatcher { $0.submit(for: self) }
        guard !loopState.value.sequences.isEmpty else { return }
        let sequences = loopState.value.sequences
        loopState.value.sequences = []
        for buffer in submit(to: sequences) { buffer.wake() }
    }

    /// Adds the collected events to the sequences' buffers. Returns the buffers for which a consumer waits.
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

    /// Returns the events to deliver for an event of a channel.
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
        // Remove the reader from the table during the call, because changing a reader in the table would copy the
        // reader.
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
            report(.transformerThrew(error, "Event \(event.eventName.quoted) not delivered", channelName))
            return []
        }
    }

    /// Removes the readers of the channels whose names match, including the readers' data. Releasing a reader may call
    /// the client, so the method does it after the change.
    func forgetPayloads(of matches: (String) -> Bool) {
        let forgotten = loopState.value.payloadReaders.filter { matches($0.key) }
        for name in forgotten.keys { loopState.value.payloadReaders[name] = nil }
        withExtendedLifetime(forgotten) {}
    }

    // MARK: Binding

    /// - Parameters:
    ///   - name: The event's name; nil for every event.
    ///   - listeners: The listeners of a channel, of the client or of the user.
    ///   - dispatcher: The dispatcher that runs the callback; `nil` for the queue of the options.
    /// - Returns: The callback's id. If the limit of callbacks is reached, the client reports an error, and returns an
    ///   unused id.
    func bind(
        _ name: String?,
        to listeners: ListenerRegistry,
        by dispatcher: CallbackDispatcher? = nil,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) -> String {
        listeners.bind(name, by: dispatcher ?? self.dispatcher, for: self, callback)
            ?? reportUnbound(name.map { "the event \($0.quoted)" } ?? "every event")
    }

    /// - Returns: An unused id.
    func reportUnbound(_ what: String) -> String {
        let error = PusherClientError(
            .tooManyBindings,
            """
            Callback for \(what) not bound: \(limits.bindings) are bound to the same object already, and \
            limits.bindings allows no more. Unbind callbacks that are not needed, or use observe(…).
            """
        )
        step { state, _ in state.pending.append(.report(error)) }
        return listenerContext.callbackIDs.next()
    }
}
