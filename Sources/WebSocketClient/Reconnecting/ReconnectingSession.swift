import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import RealtimeNetworking
import RealtimePrimitives

/// Carries out the decisions of the ``ReconnectingStateMachine``, on one event loop.
final class ReconnectingSession: Sendable {
    typealias Machine = ReconnectingStateMachine
    typealias Open =
        @Sendable (
            WebSocketRequest, any EventLoop, @escaping @Sendable (WebSocketEvent) -> Void
        ) -> WebSocketConnection

    private struct LoopState {
        var machine: Machine
        var connection: (attempt: Machine.Attempt, WebSocketConnection)?
        var sends: [Machine.SendID: EventLoopPromise<Void>] = [:]
        var request: Task<Void, Never>?
        var isStepping = false
    }

    private struct Shared {
        var serial: UInt64 = 0
        var closing: [CheckedContinuation<WebSocketClosure, Never>] = []
    }

    let buffer: MessageBuffer
    private let options: ReconnectingWebSocket.Options
    private let eventLoop: any EventLoop
    private let makeRequest: @Sendable () async throws -> WebSocketRequest
    private let open: Open
    private let loopState: NIOLoopBoundBox<LoopState>
    private let observedState = ObservableState(ReconnectingWebSocket.State.idle)
    private let shared = NIOLockedValueBox(Shared())
    /// The clock. The clock continues while the computer is suspended.
    private let now: @Sendable () -> Duration
    private let timers: ClockedTimers<Machine.TimerID>

    /// - Parameter now: The clock; `nil` for the computer's clock.
    init(
        _ options: ReconnectingWebSocket.Options,
        on eventLoop: any EventLoop,
        now: (@Sendable () -> Duration)? = nil,
        request: @escaping @Sendable () async throws -> WebSocketRequest,
        _ open: @escaping Open
    ) {
        self.options = options
        self.eventLoop = eventLoop
        self.open = open
        makeRequest = request
        let machine = Machine(
            .init(
                connectTimeout: options.connection.connectTimeout,
                heartbeat: options.heartbeat,
                backOffReset: options.backOffReset,
                maximumQueuedMessages: options.maximumQueuedMessages,
                maximumQueuedBytes: options.maximumQueuedBytes
            )
        )
        loopState = .makeBoxSendingValue(LoopState(machine: machine), eventLoop: eventLoop)
        buffer = MessageBuffer(limit: options.connection.receiveBufferSize, on: eventLoop)
        let origin = ContinuousClock.now
        let now = now ?? { ContinuousClock.now - origin }
        self.now = now
        timers = ClockedTimers(on: eventLoop, now: now)
    }

    // MARK: Calls, on any thread

    var state: ReconnectingWebSocket.State { observedState.value }

    func connect() { step { $0.connect(now: $1) } }

    func close(code: WebSocketCloseCode, reason: String) {
        step { machine, _ in machine.close(code: code, reason: reason) }
    }

    /// Closes the WebSocket after the app has released it.
    func release() { close(code: .goingAway, reason: "") }

    func send(_ message: WebSocketMessage) async throws {
        let id = shared.withLockedValue { shared in
            shared.serial += 1
            return shared.serial
        }
        let written = eventLoop.makePromise(of: Void.self)
        try await withTaskCancellationHandler {
            eventLoop.execute { [self] in
                loopState.value.sends[id] = written
                step { machine, _ in machine.send(message, id) }
            }
            // If the task was cancelled before the step, `onCancel` found no call to cancel. So the code checks again.
            if Task.isCancelled { cancelSend(id) }
            try await written.futureResult.get()
        } onCancel: {
            cancelSend(id)
        }
    }

    private func cancelSend(_ id: Machine.SendID) {
        eventLoop.execute { [self] in
            guard loopState.value.machine.cancelSend(id) else { return }
            loopState.value.sends.removeValue(forKey: id)?.fail(CancellationError())
        }
    }

    /// Waits until the WebSocket is closed for good, and returns the closure.
    func closed() async -> WebSocketClosure {
        await withCheckedContinuation { continuation in
            let closure: WebSocketClosure? = shared.withLockedValue { shared in
                if case .closed(let closure) = state { return closure }
                shared.closing.append(continuation)
                return nil
            }
            if let closure { continuation.resume(returning: closure) }
        }
    }

    func states() -> AsyncStream<ReconnectingWebSocket.State> { observedState.values() }

    // MARK: The event loop

    /// Passes an input to the machine, and carries out the actions. On the event loop, the machine gets the input at
    /// once, so the session handles events in order. If the session is carrying out another action, the input waits.
    ///
    /// - Parameter firesDueTimers: Whether the session first handles the timers that were due during a suspension. The
    ///   value is `false` for events of the connection, because data that has arrived shows that the connection works.
    private func step(
        firesDueTimers: Bool = true,
        _ input: @escaping @Sendable (inout Machine, Duration) -> [Machine.Action]
    ) {
        guard eventLoop.inEventLoop, !loopState.value.isStepping else {
            return eventLoop.execute { [self] in step(firesDueTimers: firesDueTimers, input) }
        }
        if firesDueTimers { timers.fireDue() }
        loopState.value.isStepping = true
        for action in input(&loopState.value.machine, now()) { run(action) }
        loopState.value.isStepping = false
    }

    private func run(_ action: Machine.Action) {
        switch action {
        case .makeRequest(let attempt):
            loopState.value.request = Task { [self] in
                let result: Result<WebSocketRequest, any Error>
                do { result = .success(try await makeRequest()) } catch { result = .failure(error) }
                step { $0.requested(attempt, result.mapError { WebSocketError(requesting: $0) }, now: $1) }
            }
        case .open(let attempt, let request):
            loopState.value.request = nil
            debug("The client connects.", ["websocket.host": "\(request.host)", "websocket.attempt": "\(attempt)"])
            let connection = open(request, eventLoop) { [self] event in received(event, attempt) }
            loopState.value.connection = (attempt, connection)
        case .close(let attempt, let code, let reason):
            guard let connection = connection(attempt) else { return }
            // The client has to read the server's close frame, so the buffer must not pause reading.
            buffer.pauses(nil)
            connection.close(code: code, reason: reason)
        case .abort(let attempt):
            loopState.value.request?.cancel()
            connection(attempt)?.abort()
            forgetConnection()
        case .sendOpeningMessages(let attempt):
            guard let connection = connection(attempt) else { return }
            for message in options.openingMessages() { connection.send(message, promise: nil) }
            connection.flush()
        case .write(let attempt, let id, let message):
            write(message, id, on: connection(attempt))
        case .sendHeartbeat(let attempt):
            guard let connection = connection(attempt) else { return }
            if let text = options.heartbeat.text {
                connection.send(text, promise: nil)
            } else {
                connection.sendPing()
            }
            connection.flush()
        case .fail(let id, let error):
            loopState.value.sends.removeValue(forKey: id)?.fail(error)
        case .askRetryPolicy(let attempt, let retryCount, let elapsed, let reason):
            let delay = options.retryPolicy.delay(
                for: RetryContext(
                    retryCount: retryCount,
                    elapsed: elapsed,
                    reason: reason,
                    closeCode: reason.closeCode?.rawValue,
                    random: .random(in: 0..<1)
                )
            )
            step { $0.retryDecided(attempt, delay: delay, now: $1) }
        case .schedule(let timer, let delay):
            timers.set(timer, after: delay) { [weak self] in
                guard let self else { return }
                let isPaused = buffer.isPaused
                step(firesDueTimers: false) { $0.timerFired(timer, isPaused: isPaused, now: $1) }
            }
        case .cancel(let timer):
            timers.cancel(timer)
        case .publish(let state):
            publish(state)
        }
    }

    private func received(_ event: WebSocketEvent, _ attempt: Machine.Attempt) {
        switch event {
        case .opened:
            // The buffer may still be full of messages from the last connection, so reading may have to wait.
            buffer.pauses(connection(attempt))
            step(firesDueTimers: false) { $0.opened(attempt, now: $1) }
        case .text(let bytes): deliver(.text(String(utf8: bytes)), attempt)
        case .binary(let bytes): deliver(.binary(Array(bytes.readableBytesView)), attempt)
        case .pong, .activity, .readComplete:
            loopState.value.machine.activity(attempt, now: now())
        case .closed(let closure):
            if connection(attempt) != nil { forgetConnection() }
            step(firesDueTimers: false) { $0.closed(attempt, closure, now: $1) }
        }
    }

    private func deliver(_ message: WebSocketMessage, _ attempt: Machine.Attempt) {
        // The app needs no messages after it has closed the WebSocket, so messages must not fill the memory.
        if case .closing = state { return }
        buffer.append(message)
    }

    private func write(_ message: WebSocketMessage, _ id: Machine.SendID, on connection: WebSocketConnection?) {
        guard let promise = loopState.value.sends.removeValue(forKey: id) else { return }
        guard let connection else {
            return promise.fail(WebSocketError(.connectionClosed, "Message not sent: the connection is not open."))
        }
        connection.sendInTurn(message, promise: promise)
    }

    private func connection(_ attempt: Machine.Attempt) -> WebSocketConnection? {
        guard let connection = loopState.value.connection, connection.attempt == attempt else { return nil }
        return connection.1
    }

    private func forgetConnection() {
        loopState.value.connection = nil
        loopState.value.request = nil
        buffer.pauses(nil)
    }

    private func publish(_ state: ReconnectingWebSocket.State) {
        debug("The state has changed.", ["websocket.state": "\(state)"])
        guard case .closed(let closure) = state else {
            observedState.change(to: state, isFinal: false)
            return
        }
        let old = observedState.change(to: state, isFinal: true)
        // Later calls of `close` read the result from the state, so the code resumes only the waiting calls.
        let closing = shared.withLockedValue { $0.closing }
        loopState.value.request?.cancel()
        loopState.value.request = nil
        // If the app has closed the WebSocket, only its `close` call gets an error, not the sequence.
        buffer.finish(old == .closing ? .success(()) : closure.error.map { .failure($0) } ?? .success(()))
        for continuation in closing { continuation.resume(returning: closure) }
    }

    private func debug(_ message: Logger.Message, _ metadata: @autoclosure () -> Logger.Metadata) {
        options.logger.debug(message, metadata: metadata())
    }
}

extension WebSocketError {
    /// Creates the error for an attempt for which the app's closure threw an error.
    fileprivate init(requesting error: any Error) {
        self =
            error as? WebSocketError
            ?? WebSocketError(
                .requestFailed,
                """
                Connection failed: the app's closure threw an error of the type '\(type(of: error))'. Only the error's \
                cause contains its text, which may be secret.
                """,
                cause: error
            )
    }
}
