/// The authorizers that are being asked. Confined to the event loop.
struct AuthorizationTasks {
    /// Some tasks ask for several at once.
    private struct Running {
        var task: Task<Void, Never>
        var unanswered: Set<AuthorizationTry>
    }

    /// Asked for in this turn of the loop, and not begun yet: so that those of one turn can become one request.
    var waiting: [(id: AuthorizationTry, request: AuthorizationRequest)] = []
    /// What the machine was last told.
    var atOnce: Int?
    private var running: [UInt64: Running] = [:]
    private var taskOf: [AuthorizationTry: UInt64] = [:]
    private var serial: UInt64 = 0

    var count: Int { running.count }

    mutating func add(_ task: Task<Void, Never>, for authorizations: [AuthorizationTry]) {
        serial += 1
        running[serial] = Running(task: task, unanswered: Set(authorizations))
        for authorization in authorizations { taskOf[authorization] = serial }
    }

    /// An answer is not wanted any more. A task that nobody waits for is cancelled.
    mutating func cancel(_ authorization: AuthorizationTry) {
        waiting.removeAll { $0.id == authorization }
        remove(authorization)?.cancel()
    }

    /// An answer has come.
    mutating func answered(_ authorization: AuthorizationTry) {
        _ = remove(authorization)
    }

    /// The task, where this was the last that it was asked for.
    private mutating func remove(_ authorization: AuthorizationTry) -> Task<Void, Never>? {
        guard let serial = taskOf.removeValue(forKey: authorization) else { return nil }
        running[serial]?.unanswered.remove(authorization)
        guard running[serial]?.unanswered.isEmpty == true else { return nil }
        return running.removeValue(forKey: serial)?.task
    }
}
