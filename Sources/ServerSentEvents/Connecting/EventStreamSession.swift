import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives

/// Carries out the decisions of the ``EventStreamStateMachine``, on one event loop.
final class EventStreamSession: LoopShell {
    typealias Machine = EventStreamStateMachine

    /// The request, or the closure that makes the requests.
    enum Source: Sendable {
        case request(EventStreamRequest)
        case closure(@Sendable (EventStreamAttempt) async throws -> EventStreamRequest)
    }

    private struct LoopState {
        var stream: (any HTTPStream)?
        var request: Task<Void, Never>?
        /// Whether the client has paused reading because the inbox was full.
        var isReadingPaused = false
    }

    private struct Shared {
        var isIterated = false
        /// Whether the app has closed the stream. The state machine on the event loop may still have to handle the
        /// call.
        var isClosed = false
        var position: Machine.Position
        var statistics = EventStreamStatistics()
        /// The response of the current or last connection.
        var response: EventStreamResponse?
    }

    let options: EventStreamOptions
    let driver: MachineDriver<Machine, EventStream.State>
    private let inbox: EventStreamInbox
    private let source: Source
    private let connector: EventStreamConnector
    private let loopState: NIOLoopBoundBox<LoopState>
    private let shared: NIOLockedValueBox<Shared>
    private var eventLoop: any EventLoop { driver.eventLoop }

    init(_ source: Source, lastEventID: String, _ options: EventStreamOptions, _ connector: EventStreamConnector) {
        self.source = source
        self.options = options
        self.connector = connector
        inbox = EventStreamInbox(limit: options.receiveBufferSize)
        shared = NIOLockedValueBox(Shared(position: Machine.Position(lastEventID: lastEventID)))
        let machine = Machine(
            .init(
                reconnection: options.reconnection,
                reconnectionTime: options.reconnectionTime,
                backOffReset: options.backOffReset,
                retryableStatuses: options.retryableStatuses,
                contentTypes: options.contentTypes,
                wholeContentTypes: options.wholeContentTypes,
                responseTimeout: options.responseTimeout,
                idleTimeout: options.idleTimeout.map { max($0, .milliseconds(1)) },
                makesRequests: source.makesRequests
            ),
            lastEventID: lastEventID
        )
        let eventLoop = connector.eventLoopGroup.next()
        driver = MachineDriver(machine, .idle, on: eventLoop, clock: connector.clock)
        loopState = .makeBoxSendingValue(LoopState(), eventLoop: eventLoop)
    }

    // MARK: Calls, on any thread

    var lastEventID: String { shared.withLockedValue { $0.position.lastEventID } }
    var statistics: EventStreamStatistics { shared.withLockedValue { $0.statistics } }

    var reconnectionTime: Duration {
        Machine.reconnectionTime(shared.withLockedValue { $0.position }, default: options.reconnectionTime)
    }

    var response: EventStreamResponse? { shared.withLockedValue { $0.response } }

    func connect() { step { $0.start(now: $1) } }

    func connected(within timeout: Duration?) async throws {
        connect()
        let late = EventStreamError.waitTimedOut("there was no connection", timeout)
        try await wait(within: timeout, orThrow: late) { state -> Result<Void, EventStreamError>? in
            switch state {
            case .idle, .connecting, .waiting: nil
            case .open: .success(())
            case .closed(let reason): .failure(reason ?? .closedByApp)
            }
        }
    }

    func closed(within timeout: Duration?) async throws {
        let late = EventStreamError.waitTimedOut("the stream is not closed", timeout)
        try await wait(within: timeout, orThrow: late) { state -> Result<Void, EventStreamError>? in
            if case .closed = state { .success(()) } else { nil }
        }
    }

    func restart() { step { $0.restart(now: $1) } }

    func close() {
        shared.withLockedValue { $0.isClosed = true }
        stop()
    }

    // MARK: The reader

    /// Whether the reader must stop, because the app has closed the stream or the reader's task is cancelled.
    var isOver: Bool { Task.isCancelled || shared.withLockedValue { $0.isClosed } }

    /// Connects. Returns false if the stream was iterated before.
    func start() -> Bool {
        let isFirst = shared.withLockedValue { shared in
            defer { shared.isIterated = true }
            return !shared.isIterated
        }
        if isFirst { connect() }
        return isFirst
    }

    /// Closes the stream. The app has called `close()`, or the reader has stopped.
    func stop() { step { machine, _ in machine.close() } }

    func take() -> (items: [EventStreamInbox.Item], end: EventStreamInbox.End?) {
        let (items, end, wasFull) = inbox.take()
        if wasFull { eventLoop.execute { [self] in resumeReading() } }
        return (items, end)
    }

    /// Waits until there are items or the stream has ended. If the task is cancelled, closes the stream.
    func wait() async {
        await withCancellationHandler {
            await inbox.wait()
        } onCancel: {
            stop()
        }
    }

    /// Stores the reader's position, and counts the events that the app has consumed.
    func read(_ position: Machine.Position, newEvents: Int) {
        shared.withLockedValue { shared in
            shared.position = position
            shared.statistics.events += newEvents
        }
    }

    func drained(_ attempt: Machine.Attempt, _ position: Machine.Position) {
        step { $0.drained(attempt, position, now: $1) }
    }

    /// Fails the stream, because the reader cannot read the response.
    func failed(_ error: EventStreamError) { step { machine, _ in machine.failed(error) } }

    // MARK: The event loop

    func wake(_ machine: inout Machine, now: Duration) -> [Machine.Action] {
        machine.wake(isBehind: !inbox.isEmpty || loopState.value.isReadingPaused, now: now)
    }

    func run(_ action: Machine.Action) {
        switch action {
        case .makeRequest(let attempt): makeRequest(attempt)
        case .open(let attempt, let request):
            loopState.value.request = nil
            loopState.value.isReadingPaused = false
            let redirects = HTTPStreamRedirects(
                maximum: options.maximumRedirects,
                leavesTLS: options.allowsInsecureRedirects,
                headersForOtherOrigins: options.headersForOtherOrigins
            )
            loopState.value.stream = connector.streamer.stream(request, redirects: redirects, on: eventLoop) {
                [self] event in received(event, attempt)
            }
        case .abort:
            loopState.value.request?.cancel()
            loopState.value.request = nil
            loopState.value.stream?.cancel()
            loopState.value.stream = nil
        case .opened(let response, let isWhole):
            shared.withLockedValue { $0.response = response }
            publish(.open)
            inbox.append(.opened(response, isWhole: isWhole))
        case .deliver(let item): inbox.append(item)
        case .askRetryPolicy(let question):
            let delay = options.retryPolicy.delay(for: RetryContext(question))
            step { $0.retryDecided(question.attempt, delay: delay, now: $1) }
        case .publish(let state): publish(state)
        case .publishWait(let until, let attempt, let reason):
            publish(.waiting(until: driver.instant(until), attempt: attempt, reason: reason))
        case .finish(let end): inbox.finish(end)
        }
    }

    private func makeRequest(_ attempt: EventStreamAttempt) {
        switch source {
        case .request(let request):
            let result = Result { () throws(EventStreamError) in
                try request.message(lastEventID: attempt.lastEventID, options)
            }
            step { $0.requested(attempt.number, result, now: $1) }
        case .closure(let closure):
            loopState.value.request = Task { [self] in
                let result: Result<HTTPRequest, EventStreamError>
                do {
                    result = .success(try await closure(attempt).message(lastEventID: attempt.lastEventID, options))
                } catch {
                    result = .failure(EventStreamError(requesting: error))
                }
                step { $0.requested(attempt.number, result, now: $1) }
            }
        }
    }

    private func received(_ event: HTTPStreamEvent, _ attempt: Machine.Attempt) {
        switch event {
        case .head(let head):
            let retryAfter = RetryAfter.delay(head.headers["Retry-After"], now: Date(), maximum: 86_400)
            let response = EventStreamResponse(head)
            step(catchesUp: false) { $0.received(attempt, response, retryAfter: retryAfter, now: $1) }
        case .body(let bytes):
            guard driver.machine.isOpen(attempt) else {
                return step(catchesUp: false) { $0.received(attempt, refusal: bytes.readableBytesView, now: $1) }
            }
            driver.machine.activity(attempt, now: driver.now)
            shared.withLockedValue { $0.statistics.bytes += bytes.readableBytes }
            if inbox.append(bytes) {
                loopState.value.isReadingPaused = true
                loopState.value.stream?.setReading(false)
            }
        case .end: ended(attempt, nil)
        case .failed(let error): ended(attempt, error)
        }
    }

    private func resumeReading() {
        loopState.value.isReadingPaused = false
        // Nothing could arrive during the pause, so the idle timeout must not count that time.
        driver.machine.resumedReading(now: driver.now)
        loopState.value.stream?.setReading(true)
    }

    private func ended(_ attempt: Machine.Attempt, _ error: HTTPRequestError?) {
        // The stream retains the session, so the session must release the stream when the stream has ended.
        loopState.value.stream = nil
        let isOpen = driver.machine.isOpen(attempt)
        step(catchesUp: false) {
            $0.ended(attempt, error.map { EventStreamError($0, isOpen: isOpen) }, now: $1)
        }
    }

    private func publish(_ state: EventStream.State) {
        shared.withLockedValue { $0.statistics.count(state) }
        options.logger.debug("The state has changed.", metadata: ["eventstream.state": "\(state)"])
        let isFinal = if case .closed = state { true } else { false }
        driver.state.change(to: state, isFinal: isFinal)
    }
}

extension EventStreamSession.Source {
    fileprivate var makesRequests: Bool { if case .closure = self { true } else { false } }
}

extension EventStreamStatistics {
    fileprivate mutating func count(_ state: EventStream.State) {
        switch state {
        case .connecting: attempts += 1
        case .open: connections += 1
        case .waiting(_, _, let reason): losses[reason.code, default: 0] += 1
        case .idle, .closed: break
        }
    }
}

extension EventStreamError {
    /// The error of a call after the end of the stream.
    fileprivate static let closedByApp = Self(.connectionClosed, "Not connected: the stream is closed.")

    /// - Parameter what: What did not happen within the time limit.
    fileprivate static func waitTimedOut(_ what: String, _ timeout: Duration?) -> Self {
        Self(.waitTimedOut, "Wait timed out: \(what) within \((timeout ?? .zero).inWords).")
    }

    /// Creates the error for an attempt for which the app's closure threw an error.
    fileprivate init(requesting error: any Error) {
        self =
            error as? EventStreamError
            ?? EventStreamError(
                .requestFailed,
                """
                Connection failed: the app's closure threw an error of the type '\(type(of: error))'. Only the error's \
                cause contains its text, which may be secret.
                """,
                cause: error
            )
    }
}
