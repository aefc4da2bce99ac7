import RealtimeHTTP
import RealtimePrimitives

/// Decides the actions of an ``EventStream``. Each input is a method that returns the actions to carry out.
///
/// The machine has no clock, socket or task. The ``EventStreamReader`` reads the events. After the response has ended,
/// the machine waits until all events are read, because the last event determines where to resume.
struct EventStreamStateMachine: LoopMachine {
    typealias Attempt = Reconnector<EventStreamError>.Attempt
    typealias State = EventStream.State

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
        case askRetryPolicy(Reconnector<EventStreamError>.Question)
        /// Publish the state ``EventStream/State/open``, and deliver the response to the reader.
        case opened(EventStreamResponse, isWhole: Bool)
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

    /// The connection of the current attempt.
    private enum Connection: Sendable {
        case none
        /// The session makes the request, with the app's closure if there is one.
        case requested(EventStreamAttempt)
        case opening(EventStreamAttempt)
        /// The server refused the request. The client reads the start of the body, for the error.
        case refused(EventStreamError, retryAfter: Duration)
        /// - Parameters:
        ///   - nextCheck: The time of the next check for silence; `nil` without a limit.
        ///   - isWhole: Whether the whole body is one event.
        case open(lastActivity: Duration, nextCheck: Duration?, isWhole: Bool)
        /// The response has ended, and the reader has not read all its events.
        ///
        /// - Parameter hasLasted: Whether the response was open for so long that its loss resets the back-off.
        case draining(Loss, hasLasted: Bool)
    }

    /// The maximum reconnection time that a server can set with `retry`.
    static let maximumReconnectionTime = Duration.seconds(600)
    static let maximumBodySize = 65_536

    private let configuration: Configuration
    private var reconnector: Reconnector<EventStreamError>
    private var connection = Connection.none
    private var position: Position
    /// Whether the method and the body allow sending the request again.
    private var isSafeRequest = false
    /// Whether the response to the last request has begun.
    private var hasBegun = false
    /// The URL of the last request, without secrets.
    private var address = ""

    init(_ configuration: Configuration, lastEventID: String = "") {
        self.configuration = configuration
        reconnector = Reconnector(
            attemptTimeout: configuration.responseTimeout,
            backOffReset: configuration.backOffReset
        )
        position = Position(lastEventID: lastEventID)
    }

    /// Whether the reader gets the body of the attempt's response.
    func isOpen(_ attempt: Attempt) -> Bool {
        if case .open = connection { attempt == reconnector.attempt } else { false }
    }

    private var isClosed: Bool { reconnector.phase == .ended }

    var wakeUp: Duration? {
        if case .open(_, let nextCheck, _) = connection { nextCheck } else { reconnector.wakeUp }
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

    mutating func start(now: Duration) -> [Action] {
        guard case .idle = reconnector.phase else { return [] }
        return connect(.initial, now: now)
    }

    /// Aborts an attempt or a wait, and connects at once. Aborts an open connection, and connects when the reader has
    /// read its remaining events.
    mutating func restart(now: Duration) -> [Action] {
        switch connection {
        case .none where isClosed || reconnector.phase == .idle: return []
        case .draining(_, let hasLasted):
            connection = .draining(.restart, hasLasted: hasLasted)
            return []
        case .open: return drop(.restart, now: now)
        case .none, .requested, .opening, .refused: return leave() + connect(.reconnect, now: now)
        }
    }

    mutating func close() -> [Action] { isClosed ? [] : leave() + finish(.success(.closed)) }

    // MARK: The request and its response

    mutating func requested(
        _ attempt: Attempt,
        _ result: Result<HTTPRequest, EventStreamError>,
        now: Duration
    ) -> [Action] {
        guard attempt == reconnector.attempt, case .requested(let context) = connection else { return [] }
        switch result {
        case .success(let request):
            address = HTTPRequest.printable(url: request.url)
            isSafeRequest = ["GET", "HEAD", "REPORT", "QUERY"].contains(request.method) && request.body == nil
            connection = .opening(context)
            return [.open(attempt, request)]
        case .failure(let error): return lost(error, now: now)
        }
    }

    /// - Parameter retryAfter: The minimum wait, from the response's `Retry-After`.
    mutating func received(
        _ attempt: Attempt,
        _ response: EventStreamResponse,
        retryAfter: Duration,
        now: Duration
    ) -> [Action] {
        guard attempt == reconnector.attempt, case .opening(let context) = connection else { return [] }
        switch response.status {
        case 200:
            let type = response.mediaType ?? ""
            let isWhole = configuration.wholeContentTypes.contains(type)
            guard isWhole || configuration.contentTypes.contains(type) else {
                let error = EventStreamError(contentTypeOf: response, askedFor: address)
                connection = .refused(error, retryAfter: retryAfter)
                return []
            }
            let encoding = response.header("Content-Encoding") ?? ""
            guard encoding.isEmpty || encoding.lowercased() == "identity" else {
                let error = EventStreamError(compressionOf: response, encoding, askedFor: address)
                connection = .refused(error, retryAfter: retryAfter)
                return []
            }
            reconnector.opened(now: now)
            let nextCheck = configuration.idleTimeout.map { now + $0 }
            connection = .open(lastActivity: now, nextCheck: nextCheck, isWhole: isWhole)
            hasBegun = true
            return [.opened(response, isWhole: isWhole)]
        case 204:
            return leave() + finish(.success(.withoutContent(status: 204)))
        case 401 where canRetryUnauthorized(context), 403 where canRetryUnauthorized(context):
            return leave() + connect(.unauthorized, now: now)
        default:
            let error = EventStreamError(statusOf: response, askedFor: address)
            connection = .refused(error, retryAfter: retryAfter)
            return []
        }
    }

    private func canRetryUnauthorized(_ context: EventStreamAttempt) -> Bool {
        configuration.makesRequests && context.reason != .unauthorized
    }

    /// Handles bytes of an open response.
    mutating func activity(_ attempt: Attempt, now: Duration) {
        guard attempt == reconnector.attempt, case .open(_, let nextCheck, let isWhole) = connection else { return }
        // After a suspension, the bytes may have waited in a buffer since before the connection died. The client cannot
        // ask the server, so they don't count.
        if let nextCheck, now - nextCheck > Suspension.checkInterval { return }
        connection = .open(lastActivity: now, nextCheck: nextCheck, isWhole: isWhole)
    }

    /// Restarts the idle timeout, because the client reads from the connection again after the reader was too slow.
    mutating func resumedReading(now: Duration) { activity(reconnector.attempt, now: now) }

    /// Handles the body of a response that is not an event stream.
    mutating func received(_ attempt: Attempt, refusal bytes: some Collection<UInt8>, now: Duration) -> [Action] {
        guard attempt == reconnector.attempt, case .refused(var error, let retryAfter) = connection else { return [] }
        error.body += bytes.prefix(Self.maximumBodySize - error.body.count)
        connection = .refused(error, retryAfter: retryAfter)
        return error.body.count < Self.maximumBodySize ? [] : refused(now: now)
    }

    /// - Parameter error: The reason why the request or its response failed; `nil` if the response is complete.
    mutating func ended(_ attempt: Attempt, _ error: EventStreamError?, now: Duration) -> [Action] {
        guard attempt == reconnector.attempt else { return [] }
        switch connection {
        case .opening: return error.map { lost($0, now: now) } ?? []
        case .refused(let refusal, _):
            // The server has accepted a message to which it has no answer.
            if refusal.httpStatus == 202, refusal.body.isEmpty, error == nil {
                return leave() + finish(.success(.withoutContent(status: 202)))
            }
            return refused(now: now)
        case .open(_, _, let isWhole):
            return drop(error.map { .failed($0) } ?? (isWhole ? .answered : .ended), now: now)
        case .none, .requested, .draining: return []
        }
    }

    // MARK: The reader

    /// Continues after the reader has read all events of the attempt's response.
    mutating func drained(_ attempt: Attempt, _ position: Position, now: Duration) -> [Action] {
        guard attempt == reconnector.attempt, case .draining(let loss, let hasLasted) = connection else { return [] }
        self.position = position
        if !repeatsWork, position.hasEvents || hasLasted { reconnector.resetBackOff() }
        switch loss {
        case .restart: return connect(.reconnect, now: now)
        case .answered: return finish(.success(.answered))
        case .ended where !mayRepeat: return finish(.success(.endOfResponse))
        case .ended:
            let message = "Connection to \(address) lost: the server ended the response."
            return lost(EventStreamError(.connectionLost, message).after(position), now: now)
        case .failed(let error): return lost(error.after(position), now: now)
        }
    }

    /// Fails the stream, because the reader cannot read the response. The error belongs to the current attempt, because
    /// the client starts no other attempt until the reader has read the whole response.
    mutating func failed(_ error: EventStreamError) -> [Action] {
        isClosed ? [] : leave() + finish(.failure(error))
    }

    // MARK: Timers and the retry policy

    /// - Parameter isBehind: Whether the app consumes events too slowly, so that the reader has not taken all items or
    ///   the client has paused reading.
    mutating func wake(isBehind: Bool, now: Duration) -> [Action] {
        guard case .open(let lastActivity, let nextCheck?, let isWhole) = connection,
            let timeout = configuration.idleTimeout
        else { return follow(reconnector.wake(now: now), .reconnect, now: now) }
        if nextCheck > now { return [] }
        let silence = isBehind ? .zero : now - lastActivity
        if silence < timeout {
            connection = .open(lastActivity: lastActivity, nextCheck: now + timeout - silence, isWhole: isWhole)
            return []
        }
        let message = "Connection to \(address) lost: nothing came from the server for \(timeout.inWords)."
        return drop(.failed(EventStreamError(.idleTimedOut, message)), now: now)
    }

    /// - Parameter delay: The wait before the next attempt; `nil` to stop.
    mutating func retryDecided(_ attempt: Attempt, delay: Duration?, now: Duration) -> [Action] {
        follow(reconnector.decided(attempt, delay: delay, now: now), .reconnect, now: now)
    }

    // MARK: Transitions

    private mutating func connect(_ reason: EventStreamAttempt.Reason, now: Duration) -> [Action] {
        follow(reconnector.open(now: now), reason, now: now)
    }

    /// - Parameter reason: The reason for the attempt, if the action begins one.
    private mutating func follow(
        _ action: Reconnector<EventStreamError>.Action?,
        _ reason: EventStreamAttempt.Reason,
        now: Duration
    ) -> [Action] {
        switch action {
        case .open(let attempt):
            hasBegun = false
            let context = EventStreamAttempt(number: attempt, reason: reason, lastEventID: position.lastEventID)
            connection = .requested(context)
            return [.publish(.connecting(attempt: attempt)), .makeRequest(context)]
        case .timeOut(let attempt):
            let timeout = configuration.responseTimeout.inWords
            if case .refused = connection { return refused(now: now) }
            let isRequested = if case .requested = connection { true } else { false }
            let message =
                isRequested
                ? "Connection timed out: the app's closure returned no request within \(timeout)."
                : """
                Connection to \(address) timed out: the request was not answered within \(timeout). A proxy may hold the \
                answer back.
                """
            return [.abort(attempt)] + lost(EventStreamError(.responseTimedOut, message), now: now)
        case .ask(let question): return [.askRetryPolicy(question)]
        case .wait(let until, let attempt, let reason):
            return [.publishWait(until: until, attempt: attempt, reason: reason), .deliver(.lost(reason))]
        case .stop(let reason): return finish(.failure(reason))
        case nil: return []
        }
    }

    /// Aborts the connection or the attempt.
    private func leave() -> [Action] {
        switch connection {
        case .none, .draining: []
        case .requested, .opening, .refused, .open: [.abort(reconnector.attempt)]
        }
    }

    /// Aborts the open response. The reader can still read the last events of the response.
    private mutating func drop(_ loss: Loss, now: Duration) -> [Action] {
        let actions = leave()
        reconnector.outageBegan(now: now)
        connection = .draining(loss, hasLasted: reconnector.hasLasted(now: now))
        let isComplete = if case .answered = loss { true } else { false }
        return actions + [.deliver(.ended(reconnector.attempt, isComplete: isComplete))]
    }

    /// Retries or fails after a refusal. Call it when the client has read enough of the response's body.
    private mutating func refused(now: Duration) -> [Action] {
        guard case .refused(let error, let retryAfter) = connection else { return [] }
        let isRetryable =
            error.code == .unexpectedStatus && configuration.retryableStatuses.contains(error.httpStatus ?? 0)
        return leave() + lost(error, isPermanent: !isRetryable, minimumDelay: retryAfter, now: now)
    }

    private mutating func lost(
        _ error: EventStreamError,
        isPermanent: Bool? = nil,
        minimumDelay: Duration = .zero,
        now: Duration
    ) -> [Action] {
        connection = .none
        let isPermanent = isPermanent ?? error.isPermanent
        var error = error
        if !address.isEmpty { error.address = error.address ?? address }
        let delay = max(minimumDelay, Self.reconnectionTime(position, default: configuration.reconnectionTime))
        let reaction: Reconnector<EventStreamError>.Reaction =
            isPermanent || !mayRepeat ? .stop : .ask(minimumDelay: delay)
        return follow(reconnector.lost(error, reaction, now: now), .reconnect, now: now)
    }

    private mutating func finish(_ result: Result<EventStreamInbox.Ending, EventStreamError>) -> [Action] {
        reconnector.stop()
        connection = .none
        let error: EventStreamError? = if case .failure(let error) = result { error } else { nil }
        return [.publish(.closed(error)), .finish(result)]
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

    /// The error of a response that ended after this position.
    fileprivate func after(_ position: EventStreamStateMachine.Position) -> Self {
        var error = self
        error.lastEventID = position.lastEventID
        return error
    }
}

extension EventStreamResponse {
    /// The server that answered, without secrets.
    fileprivate func place(askedFor address: String) -> String {
        HTTPRequest.printable(url: url, askedFor: address)
    }
}
