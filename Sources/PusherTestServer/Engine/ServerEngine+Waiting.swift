import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

extension ServerEngine {
    var records: [PusherTestServer.Record] { state.withLockedValue { $0.log.all } }

    func record(from index: Int) -> PusherTestServer.Record? { state.withLockedValue { $0.log.first(from: index) } }

    /// Calls `check` in the caller's task, once and then after new records, until it gives a value.
    /// - Parameter timeout: in real time, also where the server's is virtual; nil waits without an end.
    func wait<Value>(timeout: Duration?, for what: String, _ check: () -> Value?) async throws -> Value {
        let deadline = timeout.map { NIODeadline.now() + TimeAmount($0) }
        while true {
            // Taken before the check: a record that is made in between wakes the waiter up again.
            let count = state.withLockedValue { $0.log.nextIndex }
            if let value = check() { return value }
            try await waitForRecords(beyond: count, deadline: deadline) {
                PusherTestServer.ServerError(
                    .timeout,
                    "waited for \(what), but it did not happen in \(timeout ?? .zero)"
                )
            }
        }
    }

    private func waitForRecords(
        beyond count: Int,
        deadline: NIODeadline?,
        timeoutError: @escaping @Sendable () -> any Error
    ) async throws {
        let id = state.withLockedValue { state in
            state.log.lastWaiter += 1
            state.log.waiters[state.log.lastWaiter] = .announced
            return state.log.lastWaiter
        }
        let timer = deadline.map { deadline in
            MultiThreadedEventLoopGroup.singleton.any().scheduleTask(deadline: deadline) {
                self.endWaiting(id, timeoutError())
            }
        }
        defer { timer?.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (reader: RecordLog.Reader) in
                switch state.withLockedValue({ $0.log.suspend(reader, id, beyond: count) }) {
                case .success?: reader.resume()
                case .failure(let error)?: reader.resume(throwing: error)
                case nil: break
                }
            }
        } onCancel: {
            endWaiting(id, CancellationError())
        }
    }

    private func endWaiting(_ id: Int, _ error: any Error) {
        let reader = state.withLockedValue { $0.log.end(id, error) }
        reader?.resume(throwing: error)
    }
}

extension RecordLog {
    /// Keeps the reader until there are more than `count` records; otherwise says how to resume it now.
    fileprivate mutating func suspend(_ reader: Reader, _ id: Int, beyond count: Int) -> Result<Void, any Error>? {
        if case .ended(let error) = waiters[id] {
            waiters[id] = nil
            return .failure(error)
        }
        if nextIndex > count {
            waiters[id] = nil
            return .success(())
        }
        waiters[id] = .suspended(reader)
        return nil
    }

    /// The reader to resume, where it is suspended.
    fileprivate mutating func end(_ id: Int, _ error: any Error) -> Reader? {
        switch waiters[id] {
        case nil, .ended:
            return nil
        case .announced:
            waiters[id] = .ended(error)
            return nil
        case .suspended(let reader):
            waiters[id] = nil
            return reader
        }
    }
}
