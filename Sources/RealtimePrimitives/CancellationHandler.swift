/// Runs an operation on the caller's actor, and calls a closure if the task is cancelled in the meantime.
///
/// In a function that runs on its caller's actor, `withTaskCancellationHandler` of the standard library leaves that actor
/// to run the operation. So each wait changes threads twice. On a busy machine, it also begins later than the caller
/// expects.
///
/// - Parameters:
///   - isolation: The caller's actor. Leave it out.
///   - operation: The operation.
///   - onCancel: A closure that is called on any thread. If the task is already cancelled, it is called before the
///     operation begins.
@inlinable
package func withCancellationHandler<Value, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation,
    _ operation: () async throws(Failure) -> Value,
    onCancel: @Sendable () -> Void
) async throws(Failure) -> Value {
    let result: Result<Value, Failure> = await withTaskCancellationHandler {
        // Without this capture, the closure does not run on the actor.
        _ = isolation
        do throws(Failure) { return .success(try await operation()) } catch { return .failure(error) }
    } onCancel: {
        onCancel()
    }
    return try result.get()
}
