import Logging
import NIOCore
import PusherProtocol

/// Handing events to those who want them. All of this happens on the event loop, and never under the lock.
extension ClientEngine {
    /// What came from the server for the application, on its way through the ``PayloadTransformer``, if there is one.
    func deliver(_ event: PusherEvent, to channel: PusherChannel?) {
        guard options.payloadTransformer != nil else { return deliverAndCount(event, to: everyEvent, channel?.sinks) }
        for event in transformed(event) { deliverAndCount(event, to: everyEvent, channel?.sinks) }
    }

    /// The same for an event that has come through the ``PayloadTransformer``.
    func deliverAndCount(_ event: PusherEvent, to first: SinkRegistry, _ second: SinkRegistry?) {
        guard !deliver(event, to: first, second), !EventName.isProtocolEvent(event.eventName) else { return }
        loopState.value.counts.unhandledEvents += 1
    }

    /// What the client itself has to tell.
    func deliver(_ envelope: Envelope, to id: ChannelID, subscriptionError: SubscriptionError? = nil) {
        deliver(PusherEvent(envelope, subscriptionError: subscriptionError), to: everyEvent, channel(id)?.sinks)
    }

    /// - Returns: Whether somebody was there for it.
    @discardableResult
    func deliver(_ event: PusherEvent, to first: SinkRegistry, _ second: SinkRegistry?) -> Bool {
        // While callbacks run or wait, somebody may be about to bind. Asked first: of those that were done before, what
        // they bound is found.
        let isBusy = dispatcher.isBusy
        let isMainBusy = mainDispatcher.isBusy
        let firstSinks = first.sinks(for: event.eventName)
        let secondSinks = second?.sinks(for: event.eventName)
        var overflow = firstSinks.add(event, waking: wakeLater)
        if let secondSinks { overflow.add(secondSinks.add(event, waking: wakeLater)) }
        for dispatcher in dispatchers {
            if dispatcher.runsInPlace {
                let hasCalled = firstSinks.call(event, by: dispatcher)
                // Those who were called may have bound others to it.
                let sinks = hasCalled ? second?.sinks(for: event.eventName) : secondSinks
                sinks?.call(event, by: dispatcher)
            } else if (dispatcher === mainDispatcher ? isMainBusy : isBusy)
                || firstSinks.hasBinding(by: dispatcher) || secondSinks?.hasBinding(by: dispatcher) == true
            {
                dispatcher.enqueue(.event(event, first, second), for: self)
            }
        }
        if overflow.dropped > 0 { count(overflow, on: event.channelName) }
        return !firstSinks.isEmpty || secondSinks?.isEmpty == false
    }

    /// Hands an element to sequences, and reports those that begin to drop because of it.
    func send<Element>(_ element: Element, to broadcast: Broadcast<Element>, channel: String? = nil) {
        let overflow = broadcast.send(element)
        if overflow.dropped > 0 { count(overflow, on: channel) }
    }

    /// Hands an error to the sequences of errors. To those that drop errors another one is of no use.
    func publish(_ error: PusherClientError) {
        let overflow = errors.send(error)
        loopState.value.counts.sequenceOverflows += overflow.dropped
        if overflow.began > 0 { tell(self.error(overflow.began, on: nil)) }
    }

    /// Reports the sequences that begin to drop.
    private func count(_ overflow: SequenceOverflow, on channel: String?) {
        loopState.value.counts.sequenceOverflows += overflow.dropped
        guard overflow.began > 0 else { return }
        let error = error(overflow.began, on: channel)
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
            \(sequences) sequences keep only the newest \(limits.sequenceBuffer) elements: they are read more slowly \
            than elements come
            """,
            channelName: channel
        )
    }

    /// Hands over an event that came before. It may be called anywhere.
    func deliverAgain(_ event: PusherEvent, to first: SinkRegistry, _ second: SinkRegistry? = nil) {
        eventLoop.execute {
            self.deliver(event, to: first, second)
            self.wakeSequences()
        }
    }

    private func wakeLater(_ sequence: EventBuffer<PusherEvent>) {
        loopState.value.sequencesToWake.append(sequence)
    }

    /// Lets the consumers of sequences go on. After all that comes together was delivered, so that they do not compete
    /// for it with the event loop.
    func wakeSequences() {
        guard !loopState.value.sequencesToWake.isEmpty else { return }
        let sequences = loopState.value.sequencesToWake
        loopState.value.sequencesToWake = []
        for sequence in sequences { sequence.wake() }
    }
}
