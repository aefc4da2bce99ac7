public import Foundation

/// The decoded events of an event stream: see ``EventStream/events(as:until:onDecodingFailure:decoder:)``.
///
/// Iterating connects: see ``EventStream``. If there is a last event, the sequence ends with it, and the client
/// disconnects and delivers nothing more. If the server completes the response without it, and the request must not be
/// repeated, the sequence throws an error of the code ``EventStreamError/Code/connectionLost``, because values are
/// missing.
public struct EventStreamValues<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence throws errors of the stream.
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

    /// Creates an iterator. Only the first one of a stream can be used.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reader: EventStreamReader(session, reportsComments: false), hasLast: hasLast, step: step)
    }

    /// Returns one value after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: EventStreamReader
        let hasLast: Bool
        let step: @Sendable (ServerSentEvent) throws(EventStreamError) -> Step
        /// Whether the error of an incomplete response was thrown.
        var hasThrown = false

        /// Returns the next value, or `nil` at the end and if the task is cancelled. After an error of code
        /// ``EventStreamError/Code/decodingFailed`` it can be called again.
        public mutating func next() async throws(EventStreamError) -> Element? {
            try await next(isolation: #isolation)
        }

        /// Returns the next value, or `nil` at the end and if the task is cancelled. After an error of code
        /// ``EventStreamError/Code/decodingFailed`` it can be called again.
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

/// How a sequence of decoded events treats an event that cannot be decoded.
public enum EventDecodingFailure: Sendable {
    /// It throws an error of the code ``EventStreamError/Code/decodingFailed``, which contains the event.
    case fail
    /// It skips the event, and calls a closure with the error.
    case skip(report: @Sendable (EventStreamError) -> Void)
}

extension EventStream {
    /// The events before one whose data is `sentinel`, for example `[DONE]`.
    public func events(until sentinel: String) -> EventStreamValues<ServerSentEvent> {
        events(until: { $0.data == sentinel })
    }

    /// The events up to the first that meets a condition.
    ///
    /// - Parameters:
    ///   - includesLast: Whether that event is part of the sequence. Default: false.
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

    /// The values that the data of the events encodes as JSON.
    ///
    /// ```swift
    /// for try await chunk in stream.events(as: Chunk.self, until: "[DONE]") { … }
    /// ```
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - sentinel: The data of the event that ends the sequence, which is not decoded. Default: none.
    ///   - failure: What the sequence does with an event that cannot be decoded. Default: it throws.
    ///   - decoder: The decoder. Default: a new one.
    public func events<Value: Decodable & Sendable>(
        as type: Value.Type,
        until sentinel: String? = nil,
        onDecodingFailure failure: EventDecodingFailure = .fail,
        decoder: JSONDecoder = JSONDecoder()
    ) -> EventStreamValues<Value> {
        events(until: sentinel, onDecodingFailure: failure) { try $0.decode(type, using: decoder) }
    }

    /// The values that a closure makes from the events, for example one type for each type of event.
    ///
    /// - Parameters:
    ///   - sentinel: The data of the event that ends the sequence, which the closure does not get. Default: none.
    ///   - failure: What the sequence does if the closure throws. Default: it throws.
    ///   - decode: Returns the value, or `nil` to skip the event.
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
    /// Decodes the event's data as JSON.
    ///
    /// - Parameters:
    ///   - type: The type of the value. Default: the type from the context.
    ///   - decoder: The decoder. Default: a new one.
    /// - Throws: An error of the code ``EventStreamError/Code/decodingFailed``, which contains the event.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        using decoder: JSONDecoder = JSONDecoder()
    ) throws(EventStreamError) -> Value {
        do {
            return try decoder.decode(type, from: Data(data.utf8))
        } catch {
            throw EventStreamError(decoding: self, error)
        }
    }
}

extension EventStreamError {
    init(decoding event: ServerSentEvent, _ cause: any Error) {
        self.init(
            .decodingFailed,
            "Data of an event of the type \(event.event.quoted) not decoded: it does not fit. The cause says which part.",
            event: event,
            cause: cause
        )
    }
}

extension EventStreamReader {
    /// The error for a stream without its last event.
    func incomplete() -> EventStreamError {
        EventStreamError(
            .connectionLost,
            "Stream incomplete: the server ended the response before the last event.",
            lastEventID: position.lastEventID
        )
    }
}
