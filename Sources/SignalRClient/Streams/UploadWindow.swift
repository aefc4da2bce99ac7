import NIOConcurrencyHelpers
import RealtimePrimitives
import SignalRCore

/// The items of one upload on their way from the app's sequence to the transport.
///
/// The task of the upload adds items until too many bytes are unwritten. The event loop takes all items that have been
/// added since its last visit.
final class UploadWindow: Sendable {
    private struct State {
        let limit: Int
        /// The items that the event loop has not taken.
        var items: [EncodedValue] = []
        /// The size of the items that the transport has not taken, in bytes.
        var size = 0
        var failure: (any Error)?
        /// The task of the upload, which waits for space.
        var waiting: CheckedContinuation<Void, Never>?
        /// Whether the window accepts an item, of any size.
        var hasSpace: Bool { size == 0 || size < limit }
    }

    private let state: NIOLockedValueBox<State>

    init(limit: Int) { state = NIOLockedValueBox(State(limit: limit)) }

    static func size(of item: EncodedValue) -> Int { item.count + 64 }

    /// Adds an item after a wait for space.
    ///
    /// - Returns: Whether the event loop has to visit.
    /// - Throws: The error of ``fail(_:)``, or `CancellationError` if the task is cancelled.
    func add(_ item: EncodedValue) async throws -> Bool {
        while true {
            try Task.checkCancellation()
            let result: Result<Bool, any Error>? = state.withLockedValue { state in
                if let failure = state.failure { return .failure(failure) }
                guard state.hasSpace else { return nil }
                state.items.append(item)
                state.size += Self.size(of: item)
                return .success(state.items.count == 1)
            }
            if let result { return try result.get() }
            await waitForSpace()
        }
    }

    private func waitForSpace() async {
        await withCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasSpace = state.withLockedValue { state in
                    // The code checks for a cancellation while it holds the lock, so a later cancellation finds the
                    // waiting task.
                    if state.hasSpace || state.failure != nil || Task.isCancelled { return true }
                    state.waiting = continuation
                    return false
                }
                if hasSpace { continuation.resume() }
            }
        } onCancel: {
            wake { _ in }
        }
    }

    private func wake(_ change: (inout State) -> Void) {
        let waiting: CheckedContinuation<Void, Never>? = state.withLockedValue { state in
            change(&state)
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Removes and returns the items that the event loop has not taken.
    func take() -> [EncodedValue] {
        state.withLockedValue { state in
            defer { state.items = [] }
            return state.items
        }
    }

    /// Makes space, because the transport has taken an item.
    func release(_ size: Int) { wake { $0.size -= size } }

    /// Ends the upload. The next ``add(_:)`` throws the error.
    func fail(_ error: any Error) { wake { $0.failure = $0.failure ?? error } }
}
