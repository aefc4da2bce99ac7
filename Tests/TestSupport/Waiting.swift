/// Waits until a condition without a notification is true. The function also returns when the task is cancelled,
/// because a test beyond its time limit would otherwise wait forever.
package func waitUntil(
    _ condition: () async throws -> Bool,
    isolation: isolated (any Actor)? = #isolation
) async rethrows {
    while try await !condition(), !Task.isCancelled { await Task.yield() }
}
