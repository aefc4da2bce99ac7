/// Comes back when it holds, for what nobody tells the end of; or when the task is cancelled, as a test's is after its
/// time limit, which would wait for it forever.
package func waitUntil(
    _ condition: () async throws -> Bool,
    isolation: isolated (any Actor)? = #isolation
) async rethrows {
    while try await !condition(), !Task.isCancelled { await Task.yield() }
}
