public import Foundation

/// The channel for code that is `async`.
extension PusherChannel {
    /// Waits until the channel is subscribed. Subscriptions wait for the connection: call ``Pusher/connect()`` too. If
    /// nothing connects for 5 s, the log says so.
    ///
    /// ```swift
    /// let channel = pusher.subscribe("orders")
    /// let orders = channel.events(named: "created")    // made first, so that no event is missed
    /// try await channel.subscribed()
    /// ```
    ///
    /// - Returns: The channel itself.
    /// - Throws: ``SubscriptionError`` where the name cannot be subscribed, the channel cannot be authorized, the
    ///   server refuses it or does not answer in time, or the channel is unsubscribed meanwhile; ``PusherClientError``
    ///   where the connection ends for good otherwise than by ``Pusher/disconnect()``; `CancellationError` where the
    ///   task is cancelled, which leaves the subscription as it is.
    @discardableResult
    public func subscribed() async throws -> PusherChannel {
        if let fault { throw fault }
        _ = try await engine.wait(subscribing: name, of: "subscribed() of the channel \(name)") {
            [name, id] machine, waiter, now, effects in
            machine.awaitSubscription(waiter, to: name, id, now: now, into: &effects)
        }
        return self
    }

    /// Every event of the channel from now on, also those that the client itself makes:
    /// `pusher:subscription_succeeded`, `pusher:subscription_error`, `pusher:subscription_count`,
    /// `pusher:member_added`, `pusher:member_removed`. It ends when the channel is unsubscribed.
    public var events: EventSequence<PusherEvent> { listeners.makeSequence(nil) }

    /// Every event of that name from now on.
    public func events(named eventName: String) -> EventSequence<PusherEvent> { listeners.makeSequence(eventName) }

    /// The decoded data of every event of that name from now on.
    ///
    /// Events whose data does not fit the type are left out, and reported by ``Pusher/errors`` with the code
    /// ``PusherClientError/Code/undecodableData``. To handle them yourself, iterate ``events(named:)`` and call
    /// ``PusherEvent/decode(as:decoder:)``.
    public func events<Value: Decodable & Sendable>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) -> DecodedEventSequence<Value> {
        DecodedEventSequence(base: events(named: eventName), decoder: decoder, engine: engine)
    }

    /// Says when the channel is subscribed again after it was not, and how long it was away, so that what was missed can
    /// be fetched: after a loss, and after whatever else ``onResubscribed`` names.
    public var resubscriptions: EventSequence<Resubscription> { makeSequence(of: \.resubscriptions) }

    /// Says when the cache of a cache channel is empty: the current state has to be fetched from elsewhere.
    public var cacheMisses: EventSequence<CacheMiss> { makeSequence(of: \.cacheMisses) }

    /// The events of an encrypted channel that could not be decrypted, from now on.
    public var decryptionFailures: EventSequence<DecryptionFailure> { makeSequence(of: \.decryptionFailures) }
}

/// The decoded data of events, one after the other. Ends as ``EventSequence`` does.
public struct DecodedEventSequence<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// The sequence does not throw: what cannot be decoded is reported and left out.
    public typealias Failure = Never

    let base: EventSequence<PusherEvent>
    let decoder: JSONDecoder
    let engine: ClientEngine

    /// How many events were dropped so far, because they came faster than they were taken.
    public var droppedCount: Int { base.droppedCount }

    /// Makes an iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), decoder: decoder, engine: engine)
    }

    /// Gives one value after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: EventSequence<PusherEvent>.AsyncIterator
        let decoder: JSONDecoder
        let engine: ClientEngine

        /// The next value; nil at the end, and when the task is cancelled.
        public mutating func next() async -> Value? {
            while let event = await base.next() {
                if let value = engine.decode(event, as: Value.self, decoder: decoder) { return value }
            }
            return nil
        }
    }
}

extension ClientEngine {
    /// The event's data; nil, having reported it, where it cannot be decoded.
    func decode<Value: Decodable>(_ event: PusherEvent, as type: Value.Type, decoder: JSONDecoder) -> Value? {
        do {
            return try event.decode(as: type, decoder: decoder)
        } catch {
            // Through the machine's queue, so that it is reported as everything else is.
            step { state, _ in
                state.counts.undecodableEvents += 1
                state.pending.append(.report((error as? PusherClientError) ?? .init(.undecodableData, "\(error)")))
            }
            return nil
        }
    }
}
