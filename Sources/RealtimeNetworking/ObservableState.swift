import NIOConcurrencyHelpers

/// A state that any number of observers can follow.
package final class ObservableState<State: Sendable>: Sendable {
    private struct Shared {
        var state: State
        var isFinal = false
        var observers: [UInt64: AsyncStream<State>.Continuation] = [:]
        /// Closures that return the resumption of a waiting call if the state is one that it waits for.
        var waiting: [@Sendable (State) -> (@Sendable () -> Void)?] = []
        var serial: UInt64 = 0
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
    package func first<Value: Sendable>(_ value: @escaping @Sendable (State) -> Value?) async -> Value {
        await withCheckedContinuation { continuation in
            let current: Value? = shared.withLockedValue { shared in
                if let value = value(shared.state) { return value }
                shared.waiting.append { state in
                    guard let value = value(state) else { return nil }
                    return { continuation.resume(returning: value) }
                }
                return nil
            }
            if let current { continuation.resume(returning: current) }
        }
    }

    /// Changes the state, and notifies the observers. Only one thread at a time may call the method.
    ///
    /// - Parameter isFinal: Whether this is the last state, after which the observers' sequences end.
    /// - Returns: The previous state.
    @discardableResult
    package func change(to state: State, isFinal: Bool) -> State {
        let (old, observers, resumptions) = shared.withLockedValue { shared in
            defer { (shared.state, shared.isFinal) = (state, isFinal) }
            var resumptions: [@Sendable () -> Void] = []
            shared.waiting.removeAll { waiting in
                guard let resumption = waiting(state) else { return false }
                resumptions.append(resumption)
                return true
            }
            return (shared.state, shared.observers.values, resumptions)
        }
        for observer in observers {
            observer.yield(state)
            if isFinal { observer.finish() }
        }
        for resume in resumptions { resume() }
        return old
    }
}
