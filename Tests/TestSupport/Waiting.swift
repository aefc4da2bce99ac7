/// Returns when the condition is true, for conditions without a notification. It also returns when the task is
/// cancelled, because a test that exceeds its time limit would otherwise wait forever.
package func waitUntil(
    _ condition: () async throws -> Bool,
    isolation: isolated (any Actor)? = #isolation
) async rethrows {
    while try await !condition(), !Task.isCancelled { await Task.yield() }
}
