import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import RealtimeNetworking
import RealtimePrimitives

/// Carries out the decisions of the ``ReconnectingStateMachine``, on one event loop.
final class ReconnectingSession: LoopShell {
    typealias Machine = ReconnectingStateMachine
    typealias Open =
        @Sendable (
            WebSocketRequest, any EventLoop, @escaping @Sendable (WebSocketEvent) -> Void
        ) -> WebSocketConnection

    private struct LoopState {
        var connection: (attempt: Machine.Attempt, WebSocketConnection)?
        var sends: [Machine.SendID: EventLoopPromise<Void>] = [:]
        var request: Task<Void, Never>?
    }

    let driver: MachineDriver<Machine, ReconnectingWebSocket.State>
    let buffer: MessageBuffer
    private let options: ReconnectingWebSocket.Options
    private let makeRequest: @Sendable () async throws -> WebSocketRequest
    private let open: Open
    private let loopState: NIOLoopBoundBox<LoopState>
    private let closureBox = NIOLockedValueBox<WebSocketClosure?>(nil)
    private let lastSend = NIOLockedValueBox<Machine.SendID>(0)
    private var eventLoop: any EventLoop { driver.eventLoop }

    /// - Parameter clock: The clock; `nil` for the computer's clock.
    init(
        _ options: ReconnectingWebSocket.Options,
        on eventLoop: any EventLoop,
        clock: (@Sendable () -> ContinuousClock.Instant)? = nil,
        request: @escaping @Sendable () async throws -> WebSocketRequest,
        _ open: @escaping Open
    ) {
        self.options = options
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
        driver = MachineDriver(machine, .idle, on: eventLoop, clock: clock)
        loopState = .makeBoxSendingValue(LoopState(), eventLoop: eventLoop)
        buffer = MessageBuffer(limit: options.connection.receiveBufferSize, on: eventLoop)
    }

    // MARK: Calls, on any thread

    func connect() { step { $0.connect(now: $1) } }

    func close(code: WebSocketCloseCode, reason: String) {
        step { machine, _ in machine.close(code: code, reason: reason) }
    }

    /// Closes the WebSocket after the app has released it.
    func release() { close(code: .goingAway, reason: "") }

    func send(_ message: WebSocketMessage) async throws {
        let id = lastSend.withLockedValue { last in
            last += 1
            return last
        }
        try await withCancellationHandler {
            try await eventLoop.result { [self] written in
                loopState.value.sends[id] = written
                step { machine, _ in machine.send(message, id) }
            } afterSubmitting: {
                // If the task was cancelled before the step, `onCancel` found no call to cancel. So the code checks again.
                if Task.isCancelled { cancelSend(id) }
            }
        } onCancel: {
            cancelSend(id)
        }
    }

    private func cancelSend(_ id: Machine.SendID) {
        eventLoop.execute { [self] in
            guard driver.machine.cancelSend(id) else { return }
            loopState.value.sends.removeValue(forKey: id)?.fail(CancellationError())
        }
    }

    var closure: WebSocketClosure? { closureBox.withLockedValue { $0 } }

    func connected(within timeout: Duration?) async throws {
        connect()
        let late = WebSocketError.waitTimedOut("there was no connection", timeout)
        try await wait(within: timeout, orThrow: late) { state -> Result<Void, WebSocketError>? in
            switch state {
            case .idle, .connecting, .waiting: nil
            case .open: .success(())
            case .closing: .failure(.closedByApp)
            case .closed(let reason): .failure(reason ?? .closedByApp)
            }
        }
    }

    /// Waits until the WebSocket is closed for good, and returns the closure.
    func closed(within timeout: Duration?) async throws -> WebSocketClosure {
        let late = WebSocketError.waitTimedOut("the server did not answer", timeout)
        return try await wait(within: timeout, orThrow: late) {
            [self] state -> Result<WebSocketClosure, WebSocketError>? in
            if case .closed = state { closure.map { .success($0) } } else { nil }
        }
    }

    // MARK: The event loop

    func wake(_ machine: inout Machine, now: Duration) -> [Machine.Action] {
        machine.wake(isPaused: buffer.isPaused, now: now)
    }

    func run(_ action: Machine.Action) {
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
        case .askRetryPolicy(let question):
            let context = RetryContext(question, closeCode: question.reason.closeCode?.rawValue)
            let delay = options.retryPolicy.delay(for: context)
            step { $0.retryDecided(question.attempt, delay: delay, now: $1) }
        case .publish(let state):
            publish(state)
        case .publishWait(let until, let attempt, let reason):
            publish(.waiting(until: driver.instant(until), attempt: attempt, reason: reason))
        case .finish(let closure): finish(closure)
        }
    }

    private func received(_ event: WebSocketEvent, _ attempt: Machine.Attempt) {
        switch event {
        case .opened:
            // The buffer may still be full of messages from the last connection, so reading may have to wait.
            buffer.pauses(connection(attempt))
            step(catchesUp: false) { $0.opened(attempt, now: $1) }
        case .refused(let response):
            // As event streams do, the client waits for up to a day.
            let delay = RetryAfter.delay(response.header("Retry-After"), now: Date(), maximum: 86_400)
            step(catchesUp: false) { machine, _ in
                machine.refused(attempt, retryAfter: delay)
                return []
            }
        case .text(let bytes): deliver(.text(String(utf8: bytes)), attempt)
        case .binary(let bytes): deliver(.binary(Array(bytes.readableBytesView)), attempt)
        case .pong: driver.machine.activity(attempt, isPong: true, now: driver.now)
        case .activity, .readComplete: driver.machine.activity(attempt, now: driver.now)
        case .closed(let closure):
            if connection(attempt) != nil { forgetConnection() }
            step(catchesUp: false) { $0.closed(attempt, closure, now: $1) }
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
        let isFinal = if case .closed = state { true } else { false }
        driver.state.change(to: state, isFinal: isFinal)
    }

    private func finish(_ closure: WebSocketClosure) {
        // If the app has closed the WebSocket, only its `closed` call gets an error, not the sequence.
        let isWanted = state == .closing
        closureBox.withLockedValue { $0 = closure }
        publish(.closed(closure.error))
        loopState.value.request?.cancel()
        loopState.value.request = nil
        buffer.finish(isWanted ? .success(()) : closure.error.map { .failure($0) } ?? .success(()))
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
