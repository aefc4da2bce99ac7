public import Foundation
public import RealtimeJSON

/// The decoded events of an event stream. See ``EventStream/events(as:until:onDecodingFailure:decoder:)``.
///
/// The client connects when your code iterates the sequence. See ``EventStream``. If you specify a last event, the
/// sequence ends at that event, and the client disconnects. The server may complete the response before the last event.
/// If the client must not repeat the request, the sequence then throws an error with the code
/// ``EventStreamError/Code/connectionLost``. Without this error, your code would not notice that values are missing.
public struct EventStreamValues<Element: Sendable>: AsyncSequence, Sendable {
    /// The error of the sequence.
    public typealias Failure = EventStreamError

    enum Step {
        case value(Element)
        case skip
        case end
        case last(Element)
    }

    let session: EventStreamSession
    let hasLast: Bool
    let step: @Sendable (ServerSentEvent) throws(EventStreamError) -> Step

    /// Creates an iterator. You can use only the first iterator of a stream.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: EventStreamReader(session, reportsComments: false), hasLast: hasLast, step: step)
    }

    /// An iterator over the values.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: EventStreamReader
        let hasLast: Bool
        let step: @Sendable (ServerSentEvent) throws(EventStreamError) -> Step
        /// Whether the iterator has thrown the error for an incomplete response.
        var hasThrown = false

        /// Returns the next value, or `nil` when the sequence has ended or the task is cancelled. You can call the
        /// method again after an error with the code ``EventStreamError/Code/decodingFailed``.
        public mutating func next() async throws(EventStreamError) -> Element? {
            try await next(isolation: #isolation)
        }

        /// Returns the next value, or `nil` when the sequence has ended or the task is cancelled. You can call the
        /// method again after an error with the code ``EventStreamError/Code/decodingFailed``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(EventStreamError) -> Element? {
            while let event = try await reader.nextEvent() {
                switch try step(event) {
                case .value(let value): return value
                case .skip: break
                case .end:
                    reader.stop()
                    return nil
                case .last(let value):
                    reader.stop()
                    return value
                }
            }
            guard hasLast, !hasThrown, reader.ending == .endOfResponse else { return nil }
            hasThrown = true
            throw reader.incomplete()
        }
    }
}

/// The reaction of a sequence to an event that cannot be decoded.
public enum EventDecodingFailure: Sendable {
    /// The sequence throws an error with the code ``EventStreamError/Code/decodingFailed``, which contains the event.
    case fail
    /// The sequence skips the event, and calls a closure with the error.
    case skip(report: @Sendable (EventStreamError) -> Void)
}

extension EventStream {
    /// Returns the events before the first event whose data is `sentinel`, for example `[DONE]`.
    public func events(until sentinel: String) -> EventStreamValues<ServerSentEvent> {
        events(until: { $0.data == sentinel })
    }

    /// Returns the events up to the first event that meets a condition.
    ///
    /// - Parameters:
    ///   - includesLast: Whether the event that meets the condition is part of the sequence. Default: false.
    ///   - isLast: The condition.
    public func events(
        includingLast includesLast: Bool = false,
        until isLast: @escaping @Sendable (ServerSentEvent) -> Bool
    ) -> EventStreamValues<ServerSentEvent> {
        EventStreamValues(session: session, hasLast: true) { event in
            guard isLast(event) else { return .value(event) }
            return includesLast ? .last(event) : .end
        }
    }

    /// Returns a sequence of the values that the events contain as JSON.
    ///
    /// ```swift
    /// for try await chunk in stream.events(as: Chunk.self, until: "[DONE]") { … }
    /// ```
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - sentinel: The data of the event that ends the sequence. The sequence does not decode that event. Default:
    ///     none.
    ///   - failure: The reaction to an event that cannot be decoded. Default: the sequence throws.
    ///   - decoder: The decoder. Default: the client's own decoder, which is several times as fast as a `JSONDecoder`, with
    ///     ``EventStreamOptions/decoding``.
    public func events<Value: Decodable & Sendable>(
        as type: Value.Type,
        until sentinel: String? = nil,
        onDecodingFailure failure: EventDecodingFailure = .fail,
        decoder: JSONDecoder? = nil
    ) -> EventStreamValues<Value> {
        let options = session.options.decoding
        return events(until: sentinel, onDecodingFailure: failure) {
            try $0.decode(type, options: options, using: decoder)
        }
    }

    /// Returns a sequence of the values that a closure makes from the events. For example, the closure can decode each
    /// type of event as a different Swift type.
    ///
    /// - Parameters:
    ///   - sentinel: The data of the event that ends the sequence. The closure does not get that event. Default: none.
    ///   - failure: The reaction to an event for which the closure throws. Default: the sequence throws.
    ///   - decode: A closure that returns the value, or `nil` to skip the event.
    public func events<Value: Sendable>(
        until sentinel: String? = nil,
        onDecodingFailure failure: EventDecodingFailure = .fail,
        decodingBy decode: @escaping @Sendable (ServerSentEvent) throws -> Value?
    ) -> EventStreamValues<Value> {
        EventStreamValues(session: session, hasLast: sentinel != nil) { event throws(EventStreamError) in
            if event.data == sentinel { return .end }
            do {
                return try decode(event).map { .value($0) } ?? .skip
            } catch {
                let error = error as? EventStreamError ?? EventStreamError(decoding: event, error)
                guard case .skip(let report) = failure else { throw error }
                report(error)
                return .skip
            }
        }
    }
}

extension ServerSentEvent {
    /// Decodes the data of the event as JSON.
    ///
    /// - Parameters:
    ///   - type: The type of the value. Default: the type that the compiler infers.
    ///   - options: The options of the client's own decoder. Default: names and dates as in a new `JSONDecoder`.
    ///   - decoder: Another decoder. Default: the client's own decoder.
    /// - Throws: An error with the code ``EventStreamError/Code/decodingFailed``, which contains the event.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        options: JSONDecodingOptions = JSONDecodingOptions(),
        using decoder: JSONDecoder? = nil
    ) throws(EventStreamError) -> Value {
        do {
            return try options.decode(type, from: data, with: decoder)
        } catch {
            throw EventStreamError(decoding: self, error)
        }
    }
}

extension EventStreamError {
    init(decoding event: ServerSentEvent, _ cause: any Error) {
        self.init(
            .decodingFailed,
            """
            Event of the type \(event.event.quoted) not decoded: its data does not fit the expected type, because \
            \(DecodingFailure.explanation(of: cause)).
            """,
            event: event,
            cause: cause
        )
    }
}

extension EventStreamReader {
    /// Makes the error for a stream that ended before its last event.
    func incomplete() -> EventStreamError {
        EventStreamError(
            .connectionLost,
            "Stream incomplete: the server ended the response before the last event.",
            lastEventID: position.lastEventID
        )
    }
}
