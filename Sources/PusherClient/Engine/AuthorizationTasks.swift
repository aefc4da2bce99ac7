/// The requests to authorizers that are under way. Only the event loop uses this value.
struct AuthorizationTasks {
    /// A request for one or several authorizations.
    private struct Request {
        var task: Task<Void, Never>
        var unanswered: Set<AuthorizationTry>
    }

    private var requests: [UInt64: Request] = [:]
    private var requestOf: [AuthorizationTry: UInt64] = [:]
    private var serial: UInt64 = 0

    /// The number of requests that are under way.
    var count: Int { requests.count }
    /// The number of missing answers.
    var unansweredCount: Int { requestOf.count }

    mutating func add(_ task: Task<Void, Never>, for authorizations: [AuthorizationTry]) {
        serial += 1
        requests[serial] = Request(task: task, unanswered: Set(authorizations))
        for authorization in authorizations { requestOf[authorization] = serial }
    }

    /// Removes an authorization whose answer has arrived, or is no longer needed.
    ///
    /// - Returns: The task, if the client expects no other answer from it.
    mutating func remove(_ authorization: AuthorizationTry) -> Task<Void, Never>? {
        guard let serial = requestOf.removeValue(forKey: authorization) else { return nil }
        requests[serial]?.unanswered.remove(authorization)
        guard requests[serial]?.unanswered.isEmpty == true else { return nil }
        return requests.removeValue(forKey: serial)?.task
    }
}
