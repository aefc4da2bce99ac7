/// The authorizers that are being asked. Confined to the event loop.
struct AuthorizationTasks {
    /// Some tasks ask for several at once.
    private struct Running {
        var task: Task<Void, Never>
        var unanswered: Set<AuthorizationTry>
    }

    /// Asked for, and not begun yet: so that those of one turn of the loop can become one request, and because no more
    /// requests are made at once than the options allow.
    var waiting: [(id: AuthorizationTry, request: AuthorizationRequest)] = []
    /// True where those that wait will be looked at in the next turn of the loop.
    var isScheduled = false
    private var running: [UInt64: Running] = [:]
    private var taskOf: [AuthorizationTry: UInt64] = [:]
    private var userTask: UInt64?
    private var serial: UInt64 = 0
    /// Those that were given up before they were begun.
    private var cancelled: Set<AuthorizationTry> = []

    /// How many are asked.
    var count: Int { running.count }
    /// How many answers are waited for.
    var unansweredCount: Int { taskOf.count }
    /// How many of them for channels.
    var channelCount: Int { running.count - (userTask == nil ? 0 : 1) }

    mutating func add(_ task: Task<Void, Never>, for authorizations: [AuthorizationTry]) {
        serial += 1
        running[serial] = Running(task: task, unanswered: Set(authorizations))
        for authorization in authorizations { taskOf[authorization] = serial }
    }

    mutating func add(_ task: Task<Void, Never>, forUser authorization: AuthorizationTry) {
        add(task, for: [authorization])
        userTask = serial
    }

    /// An answer is not wanted any more. A task that nobody waits for is cancelled.
    mutating func cancel(_ authorization: AuthorizationTry) {
        if taskOf[authorization] != nil {
            remove(authorization)?.cancel()
        } else if !waiting.isEmpty {
            cancelled.insert(authorization)
        }
    }

    /// Those that go into the next request.
    mutating func takeBatch(of size: Int) -> [(id: AuthorizationTry, request: AuthorizationRequest)] {
        var batch: [(id: AuthorizationTry, request: AuthorizationRequest)] = []
        var taken = 0
        for next in waiting {
            guard batch.count < size else { break }
            taken += 1
            if cancelled.remove(next.id) == nil { batch.append(next) }
        }
        waiting.removeFirst(taken)
        if waiting.isEmpty { cancelled = [] }
        return batch
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
        if userTask == serial { userTask = nil }
        return running.removeValue(forKey: serial)?.task
    }
}
