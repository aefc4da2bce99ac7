import Dispatch
import NIOConcurrencyHelpers
import RealtimePrimitives

/// A wait for an answer from code that may answer late, twice or never. The first answer counts, and the object drops
/// later answers. The wait ends at once when the waiting task is cancelled.
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

    /// Returns the answer; nil if the task was cancelled first. Call this method only once.
    package func value() async -> Value? {
        await withCancellationHandler {
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
        // The value passes through the locked state, and not through the continuation. If a continuation is resumed
        // before the task is suspended, ThreadSanitizer does not see that one thread passes the value to another.
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

/// Functions that call the app's code. This code may block, ignore cancellation, or never answer.
enum UserCode {
    /// Runs the body on a new queue, so that it starts on a thread at once. A global queue has one thread for each
    /// core, and gets one more each second while these threads block. On a global queue, a few waiting calls would
    /// block all other work of the process.
    static func onQueue(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "pusher.authorization").async(execute: body)
    }

    /// Returns the body's value; nil if the task was cancelled first.
    static func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        let answer = FirstAnswer<Value>()
        onQueue { answer.give(body()) }
        return await answer.value()
    }

    /// Returns the body's result; nil if the task was cancelled first. After a cancellation, the method cancels the
    /// body's task, and does not wait for it.
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
