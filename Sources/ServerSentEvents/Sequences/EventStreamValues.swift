public import Foundation
public import RealtimeJSON

/// The values of an event stream. See ``EventStream/events(as:until:onDecodingFailure:decoder:)``.
///
/// The client connects when your code iterates the sequence. See ``EventStream``. If you specify a last event, the
/// sequence ends at that event, and the client disconnects. The server may complete the response before the last event.
/// If the client must not repeat the request, the sequence then throws an error with the code
/// ``EventStreamError/Code/connectionLost``. Without this error, your code would not notice that values are missing.
///
/// `Failure` is ``EventStreamError``, or `any Error` if a closure of your code makes the values: errors that your closure
/// throws reach your loop as they are.
public struct EventStreamValues<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    enum Step {
        case value(Element)
        case skip
        case end
        case last(Element)
    }

    let stream: EventStream
    let hasLast: Bool
    /// Converts an error of the stream.
    let convert: @Sendable (EventStreamError) -> Failure
    let step: @Sendable (ServerSentEvent) throws(Failure) -> Step

    /// Creates an iterator. You can use only the first iterator of a stream.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(
            reader: EventStreamReader(stream, reportsComments: false),
            hasLast: hasLast,
            convert: convert,
            step: step
        )
    }

    /// An iterator over the values.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: EventStreamReader
        let hasLast: Bool
        let convert: @Sendable (EventStreamError) -> Failure
        let step: @Sendable (ServerSentEvent) throws(Failure) -> Step
        /// Whether the iterator has thrown the error for an incomplete response.
        var hasThrown = false

        /// Returns the next value, or `nil` when the sequence has ended or the task is cancelled. You can call the
        /// method again after an error with the code ``EventStreamError/Code/decodingFailed``, and after an error that
        /// your closure has thrown.
        public mutating func next() async throws(Failure) -> Element? {
            try await next(isolation: #isolation)
        }

        /// Returns the next value, or `nil` when the sequence has ended or the task is cancelled. You can call the
        /// method again after an error with the code ``EventStreamError/Code/decodingFailed``, and after an error that
        /// your closure has thrown.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
            while let event = try await nextEvent() {
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
            throw convert(reader.incomplete())
        }

        private func nextEvent() async throws(Failure) -> ServerSentEvent? {
            do throws(EventStreamError) {
                return try await reader.nextEvent()
            } catch {
                throw convert(error)
            }
        }
    }
}

/// The end of a sequence of values. If the response ends before, and the client must not repeat the request, the sequence
/// throws an error with the code ``EventStreamError/Code/connectionLost``.
///
/// ```swift
/// stream.events(as: Chunk.self, until: "[DONE]")
/// stream.events(as: Chunk.self, until: .event("message_stop"))
/// stream.events(as: Update.self, until: .value { $0.isFinished })
/// ```
public struct EventStreamEnd<Value: Sendable>: Sendable {
    enum Condition: Sendable {
        case event(@Sendable (ServerSentEvent) -> Bool)
        case value(@Sendable (Value) -> Bool)
    }

    let condition: Condition

    /// The sequence ends before the first event with this data. The sequence does not decode that event.
    public static func data(_ data: String) -> Self { event { $0.data == data } }

    /// The sequence ends before the first event of this type. The sequence does not decode that event.
    public static func event(_ type: String) -> Self { event { $0.event == type } }

    /// The sequence ends before the first event that meets a condition. The sequence does not decode that event.
    public static func event(where isLast: @escaping @Sendable (ServerSentEvent) -> Bool) -> Self {
        Self(condition: .event(isLast))
    }

    /// The sequence ends after the first value that meets a condition. That value is part of the sequence.
    public static func value(where isLast: @escaping @Sendable (Value) -> Bool) -> Self {
        Self(condition: .value(isLast))
    }
}

/// A literal is the data of the event that ends the sequence.
extension EventStreamEnd: ExpressibleByStringLiteral {
    /// Creates the end before the first event with this data.
    public init(stringLiteral value: String) { self = .data(value) }
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
    public func events(until sentinel: String) -> EventStreamValues<ServerSentEvent, EventStreamError> {
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
    ) -> EventStreamValues<ServerSentEvent, EventStreamError> {
        EventStreamValues(stream: self, hasLast: true, convert: { $0 }) { event throws(EventStreamError) in
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
    ///   - end: The end of the sequence, for example `"[DONE]"` or `.event("message_stop")`. Default: the sequence ends with
    ///     the stream.
    ///   - failure: The reaction to an event that cannot be decoded. Default: the sequence throws.
    ///   - decoder: The decoder. Default: the client's own decoder, which is several times as fast as a `JSONDecoder`, with
    ///     ``EventStreamOptions/decoding``. If you pass a decoder, a number of 2^53 or more that is written with more than
    ///     64 characters is an error, because on Linux such a number can end the process.
    public func events<Value: Decodable & Sendable>(
        as type: Value.Type,
        until end: EventStreamEnd<Value>? = nil,
        onDecodingFailure failure: EventDecodingFailure = .fail,
        decoder: JSONDecoder? = nil
    ) -> EventStreamValues<Value, EventStreamError> {
        let options = session.options.decoding
        return EventStreamValues(stream: self, hasLast: end != nil, convert: { $0 }) {
            event throws(EventStreamError) in
            if end?.isReached(before: event) == true { return .end }
            do throws(EventStreamError) {
                let value = try event.decode(type, options: options, using: decoder)
                return end?.isReached(with: value) == true ? .last(value) : .value(value)
            } catch {
                guard case .skip(let report) = failure else { throw error }
                report(error)
                return .skip
            }
        }
    }

    /// Returns a sequence of the values that a closure makes from the events. For example, the closure can decode each
    /// type of event as a different Swift type.
    ///
    /// - Parameters:
    ///   - end: The end of the sequence, for example `.event("message_stop")`. The closure does not get an event that ends
    ///     the sequence. Default: the sequence ends with the stream.
    ///   - failure: The reaction to an error of ``ServerSentEvent/decode(_:options:using:)`` or of a `JSONDecoder` that the
    ///     closure throws. The sequence throws all other errors of the closure. Default: the sequence throws.
    ///   - decode: A closure that returns the value, or `nil` to skip the event. What the closure throws reaches your loop
    ///     as it is.
    public func events<Value: Sendable>(
        until end: EventStreamEnd<Value>? = nil,
        onDecodingFailure failure: EventDecodingFailure = .fail,
        decodingBy decode: @escaping @Sendable (ServerSentEvent) throws -> Value?
    ) -> EventStreamValues<Value, any Error> {
        EventStreamValues(stream: self, hasLast: end != nil, convert: { $0 }) { event throws(any Error) in
            if end?.isReached(before: event) == true { return .end }
            do {
                guard let value = try decode(event) else { return .skip }
                return end?.isReached(with: value) == true ? .last(value) : .value(value)
            } catch {
                guard case .skip(let report) = failure, let problem = EventStreamError(thrown: error, for: event) else {
                    throw error
                }
                report(problem)
                return .skip
            }
        }
    }
}

extension EventStreamEnd {
    fileprivate func isReached(before event: ServerSentEvent) -> Bool {
        if case .event(let isLast) = condition { isLast(event) } else { false }
    }

    fileprivate func isReached(with value: Value) -> Bool {
        if case .value(let isLast) = condition { isLast(value) } else { false }
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
    /// Creates the error for an event that the app's closure could not decode; `nil` if it threw for another reason.
    fileprivate init?(thrown error: any Error, for event: ServerSentEvent) {
        switch error {
        case let error as EventStreamError where error.code == .decodingFailed: self = error
        case is DecodingError: self.init(decoding: event, error)
        default: return nil
        }
    }

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
