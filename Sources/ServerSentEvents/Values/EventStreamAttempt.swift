/// An attempt to connect, for a closure that makes the requests of an ``EventStream``.
public struct EventStreamAttempt: Hashable, Sendable {
    /// Why the client connects.
    public enum Reason: Hashable, Sendable {
        /// The stream starts.
        case initial
        /// The connection was lost, or an attempt failed, or ``EventStream/restart()`` was called.
        case reconnect
        /// The server answered the last attempt with status 401 or 403: the request needs other credentials. If it answers
        /// this attempt in the same way, the stream fails.
        case unauthorized
    }

    /// The number of the attempt: 1 for the first.
    public var number: Int
    /// Why the client connects.
    public var reason: Reason
    /// The id of the last event that had one. Empty if there was none. The client adds it to the request.
    public var lastEventID: String

    /// Creates an attempt, for tests of a closure.
    public init(number: Int, reason: Reason, lastEventID: String = "") {
        self.number = number
        self.reason = reason
        self.lastEventID = lastEventID
    }
}
