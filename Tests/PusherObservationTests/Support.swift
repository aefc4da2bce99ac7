import NIOConcurrencyHelpers
import Observation
import PusherClient
import PusherTestServer
import Testing

/// Waits until a condition on observed properties is true. The condition is evaluated again only if a property that it
/// has read changes, as SwiftUI does with a view's body.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor
func observe(until condition: @MainActor () -> Bool) async {
    while true {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        let isMet = withObservationTracking(condition) { continuation.finish() }
        if isMet || Task.isCancelled { return }
        // The closure is called before the change. The change is complete before other code runs on the main actor.
        for await _ in changes {}
    }
}

/// A clock that moves only when a test says so.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
        func duration(to other: Self) -> Duration { other.offset - offset }
        static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant()
        var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var nextID = 0
        var cancelled: Set<Int> = []
    }

    private let state = NIOLockedValueBox(State())

    var now: Instant { state.withLockedValue { $0.now } }
    var minimumResolution: Duration { .zero }
    var sleeperCount: Int { state.withLockedValue { $0.sleepers.count } }
    /// The number of sleeps that have begun.
    var sleepCount: Int { state.withLockedValue { $0.nextID } }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLockedValue { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLockedValue { state -> Result<Void, any Error>? in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
                    state.sleepers[id] = (deadline, continuation)
                    return nil
                }
                if let isOver { continuation.resume(with: isOver) }
            }
        } onCancel: {
            let sleeper = state.withLockedValue { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    func advance(by duration: Duration) {
        let due = state.withLockedValue { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }
}

extension PusherTestServer {
    func makeClient(userId: String? = nil) -> Pusher {
        let options = PusherClientOptions(testing: access, userId: userId)
        options.logLevel = .silent
        return Pusher(key: access.key, options: options)
    }
}
