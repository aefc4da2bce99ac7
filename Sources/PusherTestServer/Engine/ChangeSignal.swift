import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import RealtimePrimitives

/// A signal that wakes tasks when something has changed.
package final class ChangeSignal: Sendable {
    private let state = NIOLockedValueBox(State())

    fileprivate typealias Reader = CheckedContinuation<Void, any Error>

    fileprivate enum Waiter: Sendable {
        /// The wait has begun, but the task is not suspended yet.
        case announced
        case suspended(Reader)
        /// A timeout or a cancellation ended the wait before the task was suspended.
        case ended(any Error)
    }

    fileprivate struct State: Sendable {
        var changeCount = 0
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    package init() {}

    /// Wakes the waiting tasks, so that they check again.
    package func send() {
        let readers = state.withLockedValue { $0.takeReaders() }
        for reader in readers { reader.resume() }
    }

    /// Calls `check` in the caller's task, once and then after each change, until it returns a value.
    /// - Parameters:
    ///   - timeout: The limit in real time, even if the server's time is virtual. Nil means no limit.
    ///   - history: A closure that returns a description of past events, for the timeout error.
    package func wait<Value>(
        timeout: Duration?,
        for what: String,
        history: @escaping @Sendable () -> String = { "" },
        _ check: () -> Value?
    ) async throws -> Value {
        let deadline = timeout.map { NIODeadline.now() + TimeAmount($0) }
        while true {
            // Read the count before the check, so that a change during the check wakes the task again.
            let count = state.withLockedValue { $0.changeCount }
            if let value = check() { return value }
            try await waitForChange(beyond: count, deadline: deadline) {
                PusherTestServer.ServerError(
                    .waitTimedOut,
                    "Wait for \(what) timed out: it did not happen within \((timeout ?? .zero).inWords).\(history())"
                )
            }
        }
    }

    private func waitForChange(
        beyond count: Int,
        deadline: NIODeadline?,
        timeoutError: @escaping @Sendable () -> any Error
    ) async throws {
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = .announced
            return state.lastWaiter
        }
        let timer = deadline.map { deadline in
            MultiThreadedEventLoopGroup.singleton.any().scheduleTask(deadline: deadline) {
                self.endWaiting(id, timeoutError())
            }
        }
        defer { timer?.cancel() }
        try await withCancellationHandler {
            try await withCheckedThrowingContinuation { (reader: Reader) in
                switch state.withLockedValue({ $0.suspend(reader, id, beyond: count) }) {
                case .success?: reader.resume()
                case .failure(let error)?: reader.resume(throwing: error)
                case nil: break
                }
            }
        } onCancel: {
            endWaiting(id, CancellationError())
        }
    }

    private func endWaiting(_ id: Int, _ error: any Error) {
        let reader = state.withLockedValue { $0.end(id, error) }
        reader?.resume(throwing: error)
    }
}

extension ChangeSignal.State {
    fileprivate mutating func takeReaders() -> [ChangeSignal.Reader] {
        changeCount += 1
        var readers: [ChangeSignal.Reader] = []
        for case (let id, .suspended(let reader)) in waiters {
            readers.append(reader)
            waiters[id] = nil
        }
        return readers
    }

    /// Suspends a waiting task until there are more than `count` changes. Returns a result if the caller must resume
    /// the task at once.
    fileprivate mutating func suspend(
        _ reader: ChangeSignal.Reader,
        _ id: Int,
        beyond count: Int
    ) -> Result<Void, any Error>? {
        if case .ended(let error) = waiters[id] {
            waiters[id] = nil
            return .failure(error)
        }
        if changeCount > count {
            waiters[id] = nil
            return .success(())
        }
        waiters[id] = .suspended(reader)
        return nil
    }

    /// Ends a wait with an error. Returns the continuation if the caller must resume it.
    fileprivate mutating func end(_ id: Int, _ error: any Error) -> ChangeSignal.Reader? {
        switch waiters[id] {
        case nil, .ended:
            return nil
        case .announced:
            waiters[id] = .ended(error)
            return nil
        case .suspended(let reader):
            waiters[id] = nil
            return reader
        }
    }
}
