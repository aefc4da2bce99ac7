import NIOConcurrencyHelpers
import RealtimePrimitives
import SignalRCore

/// The records, which any thread can read, and the tasks that wait for records.
final class SharedRecords: Sendable {
    struct Records: Sendable {
        var requests: [TestHubRequest] = []
        var messages: [HubMessage] = []
        var failures: [TestHubFailure] = []
        /// The open connections, in the order of their handshakes.
        var open: [TestHubConnection] = []
        /// The connections that have completed a handshake, and the connections that have ended, in order.
        var connected: [String] = []
        var ended: [String] = []
    }

    private struct Waiter {
        var isMet: @Sendable (Records) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var records = Records()
        var waiting: [UInt64: Waiter] = [:]
        var serial: UInt64 = 0
    }

    private let state = NIOLockedValueBox(State())

    var records: Records { state.withLockedValue { $0.records } }

    func connected(_ connection: TestHubConnection) {
        change { records in
            records.connected.append(connection.id)
            records.open.append(connection)
        }
    }

    /// Replaces an open connection, whose authentication was refreshed.
    func changed(_ connection: TestHubConnection) {
        change { records in
            if let index = records.open.firstIndex(where: { $0.id == connection.id }) {
                records.open[index] = connection
            }
        }
    }

    func ended(_ id: String) {
        change { records in
            records.ended.append(id)
            records.open.removeAll { $0.id == id }
        }
    }

    func received(_ message: HubMessage) { change { $0.messages.append(message) } }
    func received(_ request: TestHubRequest) { change { $0.requests.append(request) } }
    func failed(_ failure: TestHubFailure) { change { $0.failures.append(failure) } }

    func forget() {
        change { records in
            let open = records.open
            records = Records()
            records.open = open
        }
    }

    private func change(_ body: (inout Records) -> Void) {
        let met = state.withLockedValue { state in
            body(&state.records)
            if state.waiting.isEmpty { return [CheckedContinuation<Void, Never>]() }
            let records = state.records
            let met = state.waiting.filter { $0.value.isMet(records) }
            for id in met.keys { state.waiting[id] = nil }
            return met.values.map(\.continuation)
        }
        for continuation in met { continuation.resume() }
    }

    /// Waits until the condition is met or the task is cancelled.
    func wait(until isMet: @escaping @Sendable (Records) -> Bool) async {
        let id = state.withLockedValue { state in
            state.serial += 1
            return state.serial
        }
        await withCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLockedValue { state in
                    // The code checks for a cancellation while it holds the lock, so a later cancellation finds the
                    // waiting task.
                    if isMet(state.records) || Task.isCancelled { return true }
                    state.waiting[id] = Waiter(isMet: isMet, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLockedValue { $0.waiting.removeValue(forKey: id) }
            waiting?.continuation.resume()
        }
    }
}
