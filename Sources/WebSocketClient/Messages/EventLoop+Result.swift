package import NIOCore

extension EventLoop {
    /// Passes a promise to the body, which runs on the event loop, and waits for the promise.
    ///
    /// `EventLoopFuture.get()` would submit a second task, for its callback. After the first task, the thread of the event
    /// loop often sleeps again, so the second task would wake it a second time for each message.
    ///
    /// - Parameter afterSubmitting: Runs in the caller's task, right after the body was submitted.
    package func result(
        _ body: @escaping @Sendable (EventLoopPromise<Void>) -> Void,
        afterSubmitting: () -> Void = {}
    ) async throws {
        try await withCheckedThrowingContinuation { continuation in
            self.execute {
                let promise = self.makePromise(of: Void.self)
                promise.futureResult.assumeIsolated().whenComplete { continuation.resume(with: $0) }
                body(promise)
            }
            afterSubmitting()
        }
    }
}
