import NIOConcurrencyHelpers
package import NIOCore
import RealtimePrimitives

/// A state that any number of observers can follow.
package final class ObservableState<State: Sendable>: Sendable {
    private struct Shared {
        var state: State
        var isFinal = false
        var observers: [UInt64: AsyncStream<State>.Continuation] = [:]
        var waiting: [UInt64: Waiting] = [:]
        var serial: UInt64 = 0
    }

    /// A call that waits for a state.
    private struct Waiting: Sendable {
        /// Returns the resumption of the call: always after an error or without a state, and otherwise if the call waits
        /// for the state.
        let resumption: @Sendable (Result<State?, any Error>) -> (@Sendable () -> Void)?
        var timer: Scheduled<Void>?
    }

    private let shared: NIOLockedValueBox<Shared>

    package init(_ state: State) { shared = NIOLockedValueBox(Shared(state: state)) }

    package var value: State { shared.withLockedValue { $0.state } }

    /// Returns the current state, and each change up to the final state. A slow observer gets the newest 256 states.
    package func values() -> AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(256))
        let id = shared.withLockedValue { shared in
            shared.serial += 1
            continuation.yield(shared.state)
            if shared.isFinal {
                continuation.finish()
            } else {
                shared.observers[shared.serial] = continuation
            }
            return shared.serial
        }
        continuation.onTermination = { [shared] _ in
            shared.withLockedValue { _ = $0.observers.removeValue(forKey: id) }
        }
        return stream
    }

    /// Waits for a state from which the closure makes a value, and returns the value. The closure must make one from the
    /// final state.
    ///
    /// - Parameter timeout: The time limit, on the event loop. Default: no limit.
    /// - Returns: The value; `nil` after the time limit.
    /// - Throws: `CancellationError` if the task is cancelled.
    package func first<Value: Sendable>(
        within timeout: Duration? = nil,
        on eventLoop: any EventLoop,
        _ value: @escaping @Sendable (State) -> Value?
    ) async throws -> Value? {
        let id = shared.withLockedValue { shared in
            shared.serial += 1
            return shared.serial
        }
        return try await withCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value?, any Error>) in
                let waiting = Waiting { state in
                    let result = state.map { $0.flatMap(value) }
                    if case .success(.some) = state, case .success(nil) = result { return nil }
                    return { continuation.resume(with: result) }
                }
                let resumption: (@Sendable () -> Void)? = shared.withLockedValue { shared in
                    if let resumption = waiting.resumption(.success(shared.state)) { return resumption }
                    // The code checks for a cancellation while it holds the lock, so a later cancellation finds the
                    // waiting call.
                    if Task.isCancelled { return waiting.resumption(.failure(CancellationError())) }
                    shared.waiting[id] = waiting
                    return nil
                }
                if let resumption { return resumption() }
                guard let timeout else { return }
                let timer = eventLoop.scheduleTask(in: TimeAmount(clamping: timeout)) { [self] in
                    stopWaiting(id, .success(nil))
                }
                let isOver = shared.withLockedValue { shared in
                    shared.waiting[id]?.timer = timer
                    return shared.waiting[id] == nil
                }
                if isOver { timer.cancel() }
            }
        } onCancel: {
            stopWaiting(id, .failure(CancellationError()))
        }
    }

    /// Ends the observers' sequences.
    package func finish() {
        let observers = shared.withLockedValue { shared in
            shared.isFinal = true
            return shared.observers.values
        }
        for observer in observers { observer.finish() }
    }

    private func stopWaiting(_ id: UInt64, _ result: Result<State?, any Error>) {
        let waiting = shared.withLockedValue { $0.waiting.removeValue(forKey: id) }
        waiting?.timer?.cancel()
        waiting?.resumption(result)?()
    }

    /// Changes the state, and notifies the observers. Only one thread at a time may call the method.
    ///
    /// - Parameter isFinal: Whether this is the last state, after which the observers' sequences end.
    /// - Returns: The previous state.
    @discardableResult
    package func change(to state: State, isFinal: Bool) -> State {
        let (old, observers, resumptions, timers) = shared.withLockedValue { shared in
            defer { (shared.state, shared.isFinal) = (state, isFinal) }
            let resumptions = shared.waiting.compactMapValues { $0.resumption(.success(state)) }
            let timers = resumptions.keys.compactMap { shared.waiting.removeValue(forKey: $0)?.timer }
            return (shared.state, shared.observers.values, resumptions.values, timers)
        }
        for observer in observers {
            observer.yield(state)
            if isFinal { observer.finish() }
        }
        for timer in timers { timer.cancel() }
        for resume in resumptions { resume() }
        return old
    }
}
