import Foundation

/// An event with its data decoded.
public struct TypedEvent<Value> {
    /// The decoded data.
    public let value: Value
    /// The event itself.
    public let event: PusherEvent

    /// The user who sent the event, for client events on presence channels; otherwise nil.
    public var userId: String? { event.userId }
}

extension TypedEvent: Sendable where Value: Sendable {}

/// The events of one name with their data decoded. The sequence ends in the same cases as ``EventSequence``.
public struct DecodedEventSequence<Value: Decodable>: AsyncSequence {
    /// The sequence does not throw. The client reports and skips data that it cannot decode.
    public typealias Failure = Never

    let base: EventSequence<PusherEvent>
    let decoder: JSONDecoder?
    let engine: ClientEngine

    /// The number of events dropped so far, because they arrived faster than the consumer took them.
    public var droppedCount: Int { base.droppedCount }

    /// Makes an iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), decoder: decoder, engine: engine)
    }

    /// An iterator that returns one event after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: EventSequence<PusherEvent>.AsyncIterator
        let decoder: JSONDecoder?
        let engine: ClientEngine

        /// Returns the next event; nil when the sequence ends or the task is cancelled.
        public mutating func next() async -> TypedEvent<Value>? { await next(isolation: #isolation) }

        /// Returns the next event; nil when the sequence ends or the task is cancelled.
        ///
        /// The iterator decodes the data on the given actor, because the type's conformance to `Decodable` may be
        /// isolated to that actor.
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

/// The decoded data of the events of one name. The sequence ends in the same cases as ``EventSequence``.
public struct DecodedValueSequence<Value: Decodable>: AsyncSequence {
    /// The sequence does not throw. The client reports and skips data that it cannot decode.
    public typealias Failure = Never

    let base: DecodedEventSequence<Value>

    /// The number of events dropped so far, because they arrived faster than the consumer took them.
    public var droppedCount: Int { base.droppedCount }

    /// Makes an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }

    /// An iterator that returns one value after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: DecodedEventSequence<Value>.AsyncIterator

        /// Returns the next value; nil when the sequence ends or the task is cancelled.
        public mutating func next() async -> Value? { await next(isolation: #isolation) }

        /// Returns the next value; nil when the sequence ends or the task is cancelled. The iterator decodes the value
        /// on the given actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
            await base.next(isolation: actor)?.value
        }
    }
}

/// The sequence is not Sendable if the type's conformance to `Decodable` may be isolated to an actor. Otherwise,
/// another actor could iterate the sequence.
extension DecodedEventSequence: Sendable where Value: SendableMetatype {}

/// The sequence is not Sendable if the type's conformance to `Decodable` may be isolated to an actor. Otherwise,
/// another actor could iterate the sequence.
extension DecodedValueSequence: Sendable where Value: SendableMetatype {}

extension ClientEngine {
    /// Decodes the event's data. If the decoder fails, the client reports the error, and the method returns nil.
    func decode<Value: Decodable>(_ event: PusherEvent, as type: Value.Type, decoder: JSONDecoder?) -> Value? {
        do {
            return try event.decode(as: type, decoder: decoder)
        } catch {
            // The error goes through the machine's queue, like all other errors.
            step { state, _ in
                state.counts.undecodableEvents += 1
                state.pending.append(.report((error as? PusherClientError) ?? .init(.undecodableData, "\(error)")))
            }
            return nil
        }
    }
}
