import Dispatch
import NIOConcurrencyHelpers

/// Waits for code that may answer late, twice or never. The first answer counts, and the wait ends at once when the
/// waiting task is cancelled. Later answers are dropped.
package final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Void, Never>)
        case given(Value?)
        case over
    }

    private let state = NIOLockedValueBox(State.open)

    package init() {}

    package func give(_ value: Value) { end(with: value) }

    /// Nil if the task was cancelled first. Call it once.
    package func value() async -> Value? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isGiven = state.withLockedValue { state in
                    if case .given = state { return true }
                    state = .awaited(continuation)
                    return false
                }
                if isGiven { continuation.resume() }
            }
        } onCancel: {
            end(with: nil)
        }
        // The lock hands over the value, and not the continuation: if the continuation is resumed before the task is
        // suspended, ThreadSanitizer does not see that one thread hands the value to another.
        return state.withLockedValue { state in
            guard case .given(let value) = state else { return nil }
            state = .over
            return value
        }
    }

    private func end(with value: Value?) {
        let continuation: CheckedContinuation<Void, Never>? = state.withLockedValue { state in
            switch state {
            case .open:
                state = .given(value)
                return nil
            case .awaited(let continuation):
                state = .given(value)
                return continuation
            case .given, .over:
                return nil
            }
        }
        continuation?.resume()
    }
}

/// Calls the app's code, which may block, ignore cancellation, or never answer.
enum UserCode {
    /// Each call has its own queue, and so starts on a thread at once. The global queues have as many threads as there
    /// are cores, and one more each second while those block. A few waiting calls would block all others in the
    /// process.
    static func onQueue(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "pusher.authorization").async(execute: body)
    }

    /// Nil if the task was cancelled first.
    static func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        let answer = FirstAnswer<Value>()
        onQueue { answer.give(body()) }
        return await answer.value()
    }

    /// Nil if the task was cancelled first. In that case the body's own task is cancelled, and not awaited.
    static func asynchronously<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> Result<Value, any Error>? {
        let answer = FirstAnswer<Result<Value, any Error>>()
        let task = Task {
            do {
                answer.give(.success(try await body()))
            } catch {
                answer.give(.failure(error))
            }
        }
        let result = await answer.value()
        if result == nil { task.cancel() }
        return result
    }
}
