import Dispatch
import RealtimePrimitives
import TestTraits
import Testing

@Suite("withCancellationHandler", .limited)
struct CancellationHandlerTests {
    private static let key = DispatchSpecificKey<Bool>()

    private var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: Self.key) == true }

    private func wait() async -> [Bool] {
        let before = isOnMainQueue
        let during = await withCancellationHandler {
            await withCheckedContinuation { $0.resume(returning: isOnMainQueue) }
        } onCancel: {
        }
        return [before, during, isOnMainQueue]
    }

    @Test("runs the operation on the caller's actor")
    @MainActor func actor() async {
        DispatchQueue.main.setSpecific(key: Self.key, value: true)
        defer { DispatchQueue.main.setSpecific(key: Self.key, value: nil) }
        #expect(await wait() == [true, true, true])
        let elsewhere = Task { @concurrent in await wait() }
        #expect(await elsewhere.value == [false, false, false])
    }

    @Test("passes on the value or the error, and reports a cancellation")
    func results() async {
        struct Failure: Error, Equatable { var wasCancelled: Bool }
        let task = Task { () throws(Failure) -> Int in
            let (states, state) = AsyncStream<Void>.makeStream()
            return try await withCancellationHandler { () throws(Failure) -> Int in
                for await _ in states {}
                throw Failure(wasCancelled: Task.isCancelled)
            } onCancel: {
                state.finish()
            }
        }
        task.cancel()
        await #expect(throws: Failure(wasCancelled: true)) { try await task.value }
        let value = await withCancellationHandler {
            1
        } onCancel: {
        }
        #expect(value == 1)
    }
}
