import NIOConcurrencyHelpers
import SignalRCore

/// What happened, for any thread, and those who wait for it.
final class SharedRecords: Sendable {
    struct Records: Sendable {
        var requests: [TestHubRequest] = []
        var messages: [HubMessage] = []
        /// The connections that had a handshake, and those that have ended, in their order.
        var connected: [String] = []
        var ended: [String] = []
    }

    private struct State {
        var records = Records()
        var waiting: [(isMet: @Sendable (Records) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = NIOLockedValueBox(State())

    var records: Records { state.withLockedValue { $0.records } }

    func connected(_ id: String) { change { $0.connected.append(id) } }
    func ended(_ id: String) { change { $0.ended.append(id) } }
    func received(_ message: HubMessage) { change { $0.messages.append(message) } }
    func received(_ request: TestHubRequest) { change { $0.requests.append(request) } }
    func clear() { change { $0 = Records() } }

    private func change(_ body: (inout Records) -> Void) {
        let met = state.withLockedValue { state in
            body(&state.records)
            if state.waiting.isEmpty { return [CheckedContinuation<Void, Never>]() }
            let records = state.records
            let met = state.waiting.filter { $0.isMet(records) }.map(\.continuation)
            state.waiting.removeAll { $0.isMet(records) }
            return met
        }
        for continuation in met { continuation.resume() }
    }

    /// Returns when the condition is met.
    func wait(until isMet: @escaping @Sendable (Records) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isMetNow = state.withLockedValue { state in
                if isMet(state.records) { return true }
                state.waiting.append((isMet, continuation))
                return false
            }
            if isMetNow { continuation.resume() }
        }
    }
}
