import RealtimeHTTP
import RealtimePrimitives

/// Decides the actions of an ``EventStream``. Each input is a method that returns the actions to carry out.
///
/// The machine has no clock, socket or task. The ``EventStreamReader`` reads the events. After the response has ended,
/// the machine waits until all events are read, because the last event determines where to resume.
struct EventStreamStateMachine: Sendable {
    /// The number of an attempt to connect. The machine ignores an input if its number is from an earlier attempt.
    typealias Attempt = Int
    typealias State = EventStream.State

    struct TimerID: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            /// The time limit for the response.
            case response
            /// The time limit for the next bytes.
            case idle
            /// The end of the wait before the next attempt.
            case retry
        }

        var kind: Kind
        var serial: Int
    }

    enum Action: Equatable, Sendable {
        /// Make the request, with the app's closure if there is one, and answer with ``requested(_:_:now:)``.
        case makeRequest(EventStreamAttempt)
        case open(Attempt, HTTPRequest)
        /// Abort the connection, or cancel the task that makes the request. An aborted connection reports no more
        /// events.
        case abort(Attempt)
        /// Deliver an item to the reader, after all earlier bytes.
        case deliver(EventStreamInbox.Item)
        /// Ask the retry policy, and answer with ``retryDecided(_:delay:now:)``.
        case askRetryPolicy(
            Attempt,
            retryCount: Int,
            elapsed: Duration,
            reason: EventStreamError,
            minimumDelay: Duration
        )
        case schedule(TimerID, after: Duration)
        case cancel(TimerID)
        case publish(State)
        /// Publish the state ``EventStream/State/waiting(until:attempt:reason:)``. `until` is a time of the machine's
        /// clock.
        case publishWait(until: Duration, attempt: Int, reason: EventStreamError)
        /// End the sequence of events.
        case finish(Result<EventStreamInbox.Ending, EventStreamError>)
    }

    struct Configuration: Sendable {
        var reconnection: EventStreamOptions.Reconnection
        var reconnectionTime: Duration
        var backOffReset: Duration
        var retryableStatuses: Set<Int>
        var contentTypes: Set<String>
        var wholeContentTypes: Set<String>
        var responseTimeout: Duration
        var idleTimeout: Duration?
        /// Whether the app can make a new request after the server has refused the credentials of the last request.
        var makesRequests: Bool
    }

    /// The last event id and the reconnection time after the bytes that the reader has parsed.
    struct Position: Hashable, Sendable {
        var lastEventID = ""
        /// In milliseconds.
        var reconnectionTime: Int64?
        /// Whether the current response had events.
        var hasEvents = false
    }

    private enum Loss: Sendable {
        /// The server has completed the response.
        case ended
        /// The server has completed a response whose whole body is one event.
        case answered
        case failed(EventStreamError)
        /// The app has called `restart()`.
        case restart
    }

    private enum Phase: Sendable {
        case idle
        /// The session makes the request, with the app's closure if there is one.
        case preparing(EventStreamAttempt, timer: TimerID)
        case connecting(EventStreamAttempt, timer: TimerID)
        /// The server refused the request. The client reads the start of the body, for the error.
        case refused(EventStreamError, retryAfter: Duration, timer: TimerID)
        ///
        /// - Parameter isWhole: Whether the whole body is one event.
        case open(since: Duration, lastActivity: Duration, timer: TimerID?, isWhole: Bool)
        /// The response has ended, and the reader has not read all its events.
        case draining(Loss, held: Duration)
        /// The retry policy decides whether there is another attempt.
        case asking(EventStreamError, minimumDelay: Duration)
        case waiting(timer: TimerID)
        case closed
    }

    /// The maximum reconnection time that a server can set with `retry`.
    static let maximumReconnectionTime = Duration.seconds(600)
    static let maximumBodySize = 65_536

    private let configuration: Configuration
    private var phase = Phase.idle
    private var attempt = 0
    private var position: Position
    /// Whether the method and the body allow sending the request again.
    private var isSafeRequest = false
    /// Whether the response to the last request has begun.
    private var hasBegun = false
    /// The URL of the last request, without secrets.
    private var address = ""
    private var timerCount = 0
    private var retryCount = 0
    /// The time of the first loss since the last reset of ``retryCount``; nil if there was no loss since then.
    private var lossTime: Duration?

    init(_ configuration: Configuration, lastEventID: String = "") {
        self.configuration = configuration
        position = Position(lastEventID: lastEventID)
    }

    /// Whether the reader gets the body of the attempt's response.
    func isOpen(_ attempt: Attempt) -> Bool {
        if case .open = phase { attempt == self.attempt } else { false }
    }

    /// The shortest wait before the client reconnects.
    static func reconnectionTime(_ position: Position, default configured: Duration) -> Duration {
        position.reconnectionTime.map { min(.milliseconds($0), maximumReconnectionTime) } ?? configured
    }

    private var mayRepeat: Bool {
        switch configuration.reconnection {
        case .automatic: isSafeRequest
        case .never: false
        case .resumable: EventStreamRequest.canSend(lastEventID: position.lastEventID)
        case .untilResponse: isSafeRequest || !hasBegun
        case .always: true
        }
    }

    /// Whether the server does the whole work again for each repetition. A limit of attempts is then a limit of that
    /// work, so the client must not start to count again.
    private var repeatsWork: Bool {
        switch configuration.reconnection {
        case .always, .untilResponse: !isSafeRequest
        case .automatic, .never, .resumable: false
        }
    }

    // MARK: The app

    mutating func start() -> [Action] {
        guard case .idle = phase else { return [] }
        return connect(.initial)
    }

    /// Aborts an attempt or a wait, and connects at once. Aborts an open connection, and connects when the reader has
    /// read its remaining events.
    mutating func restart(now: Duration) -> [Action] {
        switch phase {
        case .idle, .closed: return []
        case .draining(_, let held):
            phase = .draining(.restart, held: held)
            return []
        case .open(let since, _, _, _): return drop(.restart, held: now - since)
        case .preparing, .connecting, .refused, .asking, .waiting: return leave() + connect(.reconnect)
        }
    }

    mutating func close() -> [Action] {
        if case .closed = phase { return [] }
        return leave() + finish(.success(.closed))
    }

    // MARK: The request and its response

    mutating func requested(
        _ attempt: Attempt,
        _ result: Result<HTTPRequest, EventStreamError>,
        now: Duration
    ) -> [Action] {
        guard attempt == self.attempt, case .preparing(let context, let timer) = phase else { return [] }
        switch result {
        case .success(let request):
            address = HTTPRequest.printable(url: request.url)
            isSafeRequest = ["GET", "HEAD", "REPORT", "QUERY"].contains(request.method) && request.body == nil
            phase = .connecting(context, timer: timer)
            return [.open(attempt, request)]
        case .failure(let error): return [.cancel(timer)] + lost(error, now: now)
        }
    }

    /// - Parameter retryAfter: The minimum wait, from the response's `Retry-After`.
    mutating func received(
        _ attempt: Attempt,
        _ response: EventStreamResponse,
        retryAfter: Duration,
        now: Duration
    ) -> [Action] {
        guard attempt == self.attempt, case .connecting(let context, let timer) = phase else { return [] }
        switch response.status {
        case 200:
            let type = response.mediaType ?? ""
            let isWhole = configuration.wholeContentTypes.contains(type)
            guard isWhole || configuration.contentTypes.contains(type) else {
                let error = EventStreamError(contentTypeOf: response, askedFor: address)
                phase = .refused(error, retryAfter: retryAfter, timer: timer)
                return []
            }
            let encoding = response.header("Content-Encoding") ?? ""
            guard encoding.isEmpty || encoding.lowercased() == "identity" else {
                let error = EventStreamError(compressionOf: response, encoding, askedFor: address)
                phase = .refused(error, retryAfter: retryAfter, timer: timer)
                return []
            }
            let idleTimer = configuration.idleTimeout.map { ($0, makeTimer(.idle)) }
            phase = .open(since: now, lastActivity: now, timer: idleTimer?.1, isWhole: isWhole)
            hasBegun = true
            return [.cancel(timer)] + (idleTimer.map { [.schedule($1, after: $0)] } ?? [])
                + [.publish(.open(response)), .deliver(.opened(response, isWhole: isWhole))]
        case 204:
            return leave() + finish(.success(.withoutContent(status: 204)))
        case 401 where canRetryUnauthorized(context), 403 where canRetryUnauthorized(context):
            return leave() + connect(.unauthorized)
        default:
            let error = EventStreamError(statusOf: response, askedFor: address)
            phase = .refused(error, retryAfter: retryAfter, timer: timer)
            return []
        }
    }

    private func canRetryUnauthorized(_ context: EventStreamAttempt) -> Bool {
        configuration.makesRequests && context.reason != .unauthorized
    }

    /// Handles bytes of an open response.
    mutating func activity(_ attempt: Attempt, now: Duration) {
        guard attempt == self.attempt, case .open(let since, _, let timer, let isWhole) = phase else { return }
        phase = .open(since: since, lastActivity: now, timer: timer, isWhole: isWhole)
    }

    /// Restarts the idle timeout, because the client reads from the connection again after the reader was too slow.
    mutating func resumedReading(now: Duration) { activity(attempt, now: now) }

    /// Handles the body of a response that is not an event stream.
    mutating func received(_ attempt: Attempt, refusal bytes: some Collection<UInt8>, now: Duration) -> [Action] {
        guard attempt == self.attempt, case .refused(var error, let retryAfter, let timer) = phase else { return [] }
        error.body += bytes.prefix(Self.maximumBodySize - error.body.count)
        phase = .refused(error, retryAfter: retryAfter, timer: timer)
        return error.body.count < Self.maximumBodySize ? [] : refused(now: now)
    }

    /// - Parameter error: The reason why the request or its response failed; `nil` if the response is complete.
    mutating func ended(_ attempt: Attempt, _ error: EventStreamError?, now: Duration) -> [Action] {
        guard attempt == self.attempt else { return [] }
        switch phase {
        case .connecting(_, let timer):
            guard let error else { return [] }
            return [.cancel(timer)] + lost(error, now: now)
        case .refused(let refusal, _, _):
            // The server has accepted a message to which it has no answer.
            if refusal.status == 202, refusal.body.isEmpty, error == nil {
                return leave() + finish(.success(.withoutContent(status: 202)))
            }
            return refused(now: now)
        case .open(let since, _, _, let isWhole):
            return drop(error.map { .failed($0) } ?? (isWhole ? .answered : .ended), held: now - since)
        case .idle, .preparing, .draining, .asking, .waiting, .closed: return []
        }
    }

    // MARK: The reader

    /// Continues after the reader has read all events of the attempt's response.
    mutating func drained(_ attempt: Attempt, _ position: Position, now: Duration) -> [Action] {
        guard attempt == self.attempt, case .draining(let loss, let held) = phase else { return [] }
        self.position = position
        if !repeatsWork, position.hasEvents || held >= configuration.backOffReset { (retryCount, lossTime) = (0, nil) }
        switch loss {
        case .restart: return connect(.reconnect)
        case .answered: return finish(.success(.answered))
        case .ended where !mayRepeat: return finish(.success(.endOfResponse))
        case .ended: return lost(EventStreamError(lossAfter: position, nil), now: now)
        case .failed(let error): return lost(EventStreamError(lossAfter: position, error), now: now)
        }
    }

    /// Fails the stream, because the reader cannot read the response. The error belongs to the current attempt, because
    /// the client starts no other attempt until the reader has read the whole response.
    mutating func failed(_ error: EventStreamError) -> [Action] {
        if case .closed = phase { return [] }
        return leave() + finish(.failure(error))
    }

    // MARK: Timers and the retry policy

    /// - Parameter isBehind: Whether the app consumes events too slowly, so that the reader has not taken all items or
    ///   the client has paused reading.
    mutating func timerFired(_ timer: TimerID, isBehind: Bool, now: Duration) -> [Action] {
        switch phase {
        case .preparing(_, timer):
            let wait = configuration.responseTimeout
            let message = "Connection timed out: the app's closure returned no request within \(wait.inWords)."
            return [.abort(attempt)] + lost(EventStreamError(.responseTimedOut, message), now: now)
        case .connecting(_, timer):
            let message = """
                Connection to \(address) timed out: the request was not answered within \
                \(configuration.responseTimeout.inWords). A proxy may hold the answer back.
                """
            return [.abort(attempt)] + lost(EventStreamError(.responseTimedOut, message), now: now)
        case .refused(_, _, timer): return refused(now: now)
        case .open(let since, let lastActivity, timer, let isWhole):
            guard let timeout = configuration.idleTimeout else { return [] }
            let rest = isBehind ? timeout : lastActivity + timeout - now
            guard rest <= .zero else {
                let next = makeTimer(.idle)
                phase = .open(since: since, lastActivity: lastActivity, timer: next, isWhole: isWhole)
                return [.schedule(next, after: rest)]
            }
            let message = "Connection to \(address) lost: nothing came from the server for \(timeout.inWords)."
            return drop(.failed(EventStreamError(.idleTimedOut, message)), held: now - since)
        case .waiting(timer): return connect(.reconnect)
        case .idle, .preparing, .connecting, .refused, .open, .draining, .asking, .waiting, .closed: return []
        }
    }

    /// - Parameter delay: The wait before the next attempt; `nil` to stop.
    mutating func retryDecided(_ attempt: Attempt, delay: Duration?, now: Duration) -> [Action] {
        guard attempt == self.attempt, case .asking(let reason, let minimumDelay) = phase else { return [] }
        guard let delay else { return finish(.failure(reason)) }
        retryCount += 1
        let wait = max(delay, minimumDelay)
        let timer = makeTimer(.retry)
        phase = .waiting(timer: timer)
        return [
            .publishWait(until: now + wait, attempt: attempt + 1, reason: reason), .deliver(.lost(reason)),
            .schedule(timer, after: wait),
        ]
    }

    // MARK: Transitions

    private mutating func connect(_ reason: EventStreamAttempt.Reason) -> [Action] {
        attempt += 1
        hasBegun = false
        let timer = makeTimer(.response)
        let context = EventStreamAttempt(number: attempt, reason: reason, lastEventID: position.lastEventID)
        phase = .preparing(context, timer: timer)
        return [
            .publish(.connecting(attempt: attempt)), .schedule(timer, after: configuration.responseTimeout),
            .makeRequest(context),
        ]
    }

    /// Cancels the phase's timer, and aborts its connection.
    private func leave() -> [Action] {
        switch phase {
        case .idle, .draining, .asking, .closed: []
        case .preparing(_, let timer), .connecting(_, let timer), .refused(_, _, let timer):
            [.cancel(timer), .abort(attempt)]
        case .open(_, _, let timer, _): (timer.map { [.cancel($0)] } ?? []) + [.abort(attempt)]
        case .waiting(let timer): [.cancel(timer)]
        }
    }

    /// Aborts the open response. The reader can still read the last events of the response.
    private mutating func drop(_ loss: Loss, held: Duration) -> [Action] {
        let actions = leave()
        phase = .draining(loss, held: held)
        let isComplete = if case .answered = loss { true } else { false }
        return actions + [.deliver(.ended(attempt, isComplete: isComplete))]
    }

    /// Retries or fails after a refusal. Call it when the client has read enough of the response's body.
    private mutating func refused(now: Duration) -> [Action] {
        guard case .refused(let error, let retryAfter, _) = phase else { return [] }
        let isRetryable = error.code == .unexpectedStatus && configuration.retryableStatuses.contains(error.status ?? 0)
        return leave() + (isRetryable ? retry(error, minimumDelay: retryAfter, now: now) : finish(.failure(error)))
    }

    private mutating func lost(_ error: EventStreamError, now: Duration) -> [Action] {
        error.isPermanent ? finish(.failure(error)) : retry(error, minimumDelay: .zero, now: now)
    }

    private mutating func retry(_ error: EventStreamError, minimumDelay: Duration, now: Duration) -> [Action] {
        guard mayRepeat else { return finish(.failure(error)) }
        let minimumDelay = max(minimumDelay, Self.reconnectionTime(position, default: configuration.reconnectionTime))
        phase = .asking(error, minimumDelay: minimumDelay)
        let start = lossTime ?? now
        lossTime = start
        return [
            .askRetryPolicy(
                attempt,
                retryCount: retryCount,
                elapsed: now - start,
                reason: error,
                minimumDelay: minimumDelay
            )
        ]
    }

    private mutating func finish(_ result: Result<EventStreamInbox.Ending, EventStreamError>) -> [Action] {
        phase = .closed
        let error: EventStreamError? = if case .failure(let error) = result { error } else { nil }
        return [.publish(.closed(error)), .finish(result)]
    }

    private mutating func makeTimer(_ kind: TimerID.Kind) -> TimerID {
        timerCount += 1
        return TimerID(kind: kind, serial: timerCount)
    }
}

extension EventStreamError {
    /// - Parameter address: The URL of the request.
    fileprivate init(statusOf response: EventStreamResponse, askedFor address: String) {
        self.init(
            .unexpectedStatus,
            "Connection to \(response.place(askedFor: address)) failed: the server answered with status \(response.status).",
            response: response
        )
    }

    fileprivate init(contentTypeOf response: EventStreamResponse, askedFor address: String) {
        let kind = response.header("Content-Type").map { "of content type \($0.quoted)" } ?? "without a content type"
        self.init(
            .invalidContentType,
            "Connection to \(response.place(askedFor: address)) failed: the response is \(kind), not an event stream.",
            response: response
        )
    }

    fileprivate init(compressionOf response: EventStreamResponse, _ encoding: String, askedFor address: String) {
        self.init(
            .invalidContentType,
            """
            Connection to \(response.place(askedFor: address)) failed: the response is compressed with \
            \(encoding.quoted), although the request accepts only uncompressed responses. Turn the compression off for \
            this stream.
            """,
            response: response
        )
    }

    /// - Parameter error: The error of the response; `nil` if the server has completed the response.
    fileprivate init(lossAfter position: EventStreamStateMachine.Position, _ error: EventStreamError?) {
        self = error ?? Self(.connectionLost, "Connection lost: the server ended the response.")
        lastEventID = position.lastEventID
    }
}

extension EventStreamResponse {
    /// The server that answered, without secrets.
    fileprivate func place(askedFor address: String) -> String {
        HTTPRequest.printable(url: url, askedFor: address)
    }
}
