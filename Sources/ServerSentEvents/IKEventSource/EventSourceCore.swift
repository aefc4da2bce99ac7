import Dispatch
import Foundation
import NIOConcurrencyHelpers

/// The state that an ``EventSource`` shares with the task that reads the events. The state is separate, because the
/// task must not retain the event source.
final class EventSourceCore: Sendable {
    struct Callbacks: Sendable {
        var onOpen: (@Sendable () -> Void)?
        var onComplete: (@Sendable (Int?, Bool?, NSError?) -> Void)?
        var onMessage: EventSource.Callback?
        var listeners: [String: EventSource.Callback] = [:]
    }

    private struct State {
        var callbacks = Callbacks()
        /// The stream of the current connection. The core has closed all earlier streams.
        var stream: EventStream?
        var isReleased = false
        var readyState = EventSourceState.closed
        var position = EventStreamStateMachine.Position()

        /// Stores a position. If the position has no reconnection time, the event source keeps its current time, even
        /// from an earlier connection.
        mutating func adopt(_ position: EventStreamStateMachine.Position) {
            let time = position.reconnectionTime ?? self.position.reconnectionTime
            self.position = position
            self.position.reconnectionTime = time
        }
    }

    private let request: EventStreamRequest
    private let connector: EventStreamConnector
    private let state = NIOLockedValueBox(State())

    init(_ request: EventStreamRequest, connector: EventStreamConnector) {
        self.request = request
        self.connector = connector
    }

    func callbacks<Result>(_ body: (inout Callbacks) -> Result) -> Result {
        // Releasing a closure can run the app's code. This code must not run while the lock is held.
        let (result, replaced) = state.withLockedValue { state in
            let old = state.callbacks
            return (body(&state.callbacks), old)
        }
        _ = replaced
        return result
    }

    var lastEventID: String { state.withLockedValue { $0.position.lastEventID } }
    var readyState: EventSourceState { state.withLockedValue { $0.readyState } }

    var retryTime: Int {
        let milliseconds = state.withLockedValue { $0.position.reconnectionTime }
        let maximum = EventStreamStateMachine.maximumReconnectionTime.components.seconds * 1_000
        return milliseconds.map { Int(min($0, maximum)) } ?? 3_000
    }

    func connect(lastEventID: String) {
        let stream: EventStream? = state.withLockedValue { state in
            guard case .closed = state.readyState, !state.isReleased else { return nil }
            var options = EventStreamOptions()
            options.reconnection = .never
            let stream = EventStream(request, lastEventID: lastEventID, options: options, connector: connector)
            (state.readyState, state.stream) = (.connecting, stream)
            return stream
        }
        guard let stream else { return }
        Task { [self] in await run(stream) }
    }

    func disconnect() {
        let stream = state.withLockedValue { state in
            defer { (state.readyState, state.stream) = (.closed, nil) }
            return state.stream
        }
        stream?.close()
    }

    /// Stops the task after the app has released the event source.
    func release() {
        state.withLockedValue { $0.isReleased = true }
        callbacks { $0 = Callbacks() }
        disconnect()
    }

    // MARK: One connection

    private func run(_ stream: EventStream) async {
        let reader = EventStreamReader(stream, reportsComments: false)
        var response: EventStreamResponse?
        var failure: EventStreamError?
        do throws(EventStreamError) {
            while let item = try await reader.next() {
                switch item {
                case .opened(let head):
                    response = head
                    await call(stream) { state in
                        state.readyState = .open
                        let callback = state.callbacks.onOpen
                        return { callback?() }
                    }
                case .event(let event):
                    let position = reader.position
                    await call(stream) { state in
                        state.adopt(position)
                        let callbacks = state.callbacks
                        let callback =
                            event.event == "message" ? callbacks.onMessage : callbacks.listeners[event.event]
                        let id = event.id.isEmpty ? nil : event.id
                        return { callback?(id, event.event, event.data) }
                    }
                case .comment, .lost: break
                }
            }
        } catch {
            failure = error
            response = error.response ?? response
        }
        // The server can change the last id and the reconnection time without an event, so the code reads the position
        // again.
        let position = reader.position
        let status = if case .withoutContent(let status)? = reader.ending { status } else { response?.status }
        await complete(stream, status, failure, position)
    }

    private func complete(
        _ stream: EventStream,
        _ status: Int?,
        _ failure: EventStreamError?,
        _ position: EventStreamStateMachine.Position
    ) async {
        await onMainQueue { [self] in
            let (callback, isCancelled) = state.withLockedValue { state in
                let isCurrent = state.stream === stream
                if isCurrent {
                    (state.readyState, state.stream) = (.closed, nil)
                    state.adopt(position)
                }
                return (state.callbacks.onComplete, !isCurrent)
            }
            let error = isCancelled ? NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled) : failure?.asNSError
            let reconnects = status.map { (201...299).contains($0) && $0 != 204 }
            callback?(status, reconnects, error)
        }
    }

    /// Changes the state on the main queue, and then calls the callback, unless the app has disconnected.
    private func call(
        _ stream: EventStream,
        _ change: @escaping @Sendable (inout State) -> @Sendable () -> Void
    ) async {
        await onMainQueue { [self] in
            let callback = state.withLockedValue { state in state.stream === stream ? change(&state) : nil }
            callback?()
        }
    }

    /// Runs `body` on the main queue, and waits until `body` returns. While the queue is busy, the client therefore
    /// reads no further events.
    private func onMainQueue(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.main.async {
                body()
                continuation.resume()
            }
        }
    }
}

extension EventStreamError {
    /// The error as URLSession would report it. The underlying error is this ``EventStreamError``.
    fileprivate var asNSError: NSError {
        let code =
            switch self.code {
            case .invalidRequest: NSURLErrorBadURL
            case .connectionTimedOut, .responseTimedOut, .idleTimedOut: NSURLErrorTimedOut
            case .connectionFailed: NSURLErrorCannotConnectToHost
            case .connectionLost: NSURLErrorNetworkConnectionLost
            case .tlsFailed: NSURLErrorSecureConnectionFailed
            case .redirectRefused: NSURLErrorHTTPTooManyRedirects
            default: NSURLErrorBadServerResponse
            }
        return NSError(
            domain: NSURLErrorDomain,
            code: code,
            userInfo: [NSLocalizedDescriptionKey: message, NSUnderlyingErrorKey: self]
        )
    }
}
