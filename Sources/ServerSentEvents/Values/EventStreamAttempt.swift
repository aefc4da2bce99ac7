/// An attempt to connect, for a closure that makes the requests of an ``EventStream``.
public struct EventStreamAttempt: Hashable, Sendable {
    /// The reason why the client connects.
    public enum Reason: Hashable, Sendable {
        /// The stream starts.
        case initial
        /// The connection was lost, an attempt failed, or your code called ``EventStream/restart()``.
        case reconnect
        /// The server answered the last attempt with status 401 or 403, so the request needs other credentials. If the
        /// server answers this attempt with 401 or 403 too, the stream fails.
        case unauthorized
    }

    /// The number of the attempt. The first attempt has the number 1.
    public var number: Int
    /// The reason why the client connects.
    public var reason: Reason
    /// The id of the last event that had an id; empty if no event had one. The client adds the id to the request.
    public var lastEventID: String

    /// Creates an attempt, for tests of a closure.
    public init(number: Int, reason: Reason, lastEventID: String = "") {
        self.number = number
        self.reason = reason
        self.lastEventID = lastEventID
    }
}
