import NIOConcurrencyHelpers

extension ServerEngine {
    var records: [PusherTestServer.Record] { state.withLockedValue { $0.log.all } }

    func record(from index: Int) -> PusherTestServer.Record? { state.withLockedValue { $0.log.first(from: index) } }

    /// Calls `check` in the caller's task, once and then after new records, until it returns a value.
    /// - Parameter timeout: The limit in real time, even if the server's time is virtual. Nil means no limit.
    func wait<Value>(timeout: Duration?, for what: String, _ check: () -> Value?) async throws -> Value {
        let value = try await newRecords.wait(timeout: timeout, for: what, history: { self.history }, check)
        await settle?()
        return value
    }

    /// A description of the last records, for a timeout error.
    private var history: String {
        let last = state.withLockedValue { $0.log.last(Self.historyLength) }
        guard !last.isEmpty else { return " No client has connected yet." }
        return " The last records:" + last.map { "\n  \($0)" }.joined()
    }

    private static let historyLength = 10
}
