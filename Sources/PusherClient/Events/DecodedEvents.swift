import Foundation

/// An event with its data decoded.
public struct TypedEvent<Value> {
    /// The decoded data.
    public let value: Value
    /// The event itself.
    public let event: PusherEvent

    /// The user who sent the event, for client events on presence channels. Otherwise nil.
    public var userId: String? { event.userId }
}

extension TypedEvent: Sendable where Value: Sendable {}

/// The events of one name with their data decoded. Ends as ``EventSequence`` does.
public struct DecodedEventSequence<Value: Decodable>: AsyncSequence {
    /// The sequence does not throw: data that cannot be decoded is reported and skipped.
    public typealias Failure = Never

    let base: EventSequence<PusherEvent>
    let decoder: JSONDecoder
    let engine: ClientEngine

    /// How many events were dropped so far, because they arrived faster than they were consumed.
    public var droppedCount: Int { base.droppedCount }

    /// Makes an iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), decoder: decoder, engine: engine)
    }

    /// Gives one event after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: EventSequence<PusherEvent>.AsyncIterator
        let decoder: JSONDecoder
        let engine: ClientEngine

        /// The next event; nil at the end, and when the task is cancelled.
        public mutating func next() async -> TypedEvent<Value>? { await next(isolation: #isolation) }

        /// The next event; nil at the end, and when the task is cancelled.
        ///
        /// The data is decoded on the given actor: the type's conformance to `Decodable` may belong to it.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TypedEvent<Value>? {
            while let event = await base.next() {
                if let value = engine.decode(event, as: Value.self, decoder: decoder) {
                    return TypedEvent(value: value, event: event)
                }
            }
            return nil
        }
    }
}

/// The decoded data of the events of one name. Ends as ``EventSequence`` does.
public struct DecodedValueSequence<Value: Decodable>: AsyncSequence {
    /// The sequence does not throw: data that cannot be decoded is reported and skipped.
    public typealias Failure = Never

    let base: DecodedEventSequence<Value>

    /// How many events were dropped so far, because they arrived faster than they were consumed.
    public var droppedCount: Int { base.droppedCount }

    /// Makes an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }

    /// Gives one value after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: DecodedEventSequence<Value>.AsyncIterator

        /// The next value; nil at the end, and when the task is cancelled.
        public mutating func next() async -> Value? { await next(isolation: #isolation) }

        /// The next value; nil at the end, and when the task is cancelled. It is decoded on the given actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
            await base.next(isolation: actor)?.value
        }
    }
}

/// Not Sendable if the type's conformance to `Decodable` may belong to an actor, because another actor could iterate
/// the sequence.
extension DecodedEventSequence: Sendable where Value: SendableMetatype {}

/// Not Sendable if the type's conformance to `Decodable` may belong to an actor, because another actor could iterate
/// the sequence.
extension DecodedValueSequence: Sendable where Value: SendableMetatype {}

extension ClientEngine {
    /// The event's data. If it cannot be decoded, the client reports that, and this is nil.
    func decode<Value: Decodable>(_ event: PusherEvent, as type: Value.Type, decoder: JSONDecoder) -> Value? {
        do {
            return try event.decode(as: type, decoder: decoder)
        } catch {
            // Reported through the machine's queue, like all other errors.
            step { state, _ in
                state.counts.undecodableEvents += 1
                state.pending.append(.report((error as? PusherClientError) ?? .init(.undecodableData, "\(error)")))
            }
            return nil
        }
    }
}
