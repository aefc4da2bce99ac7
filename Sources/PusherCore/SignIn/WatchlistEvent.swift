/// A report that users of the watchlist came online or went offline.
public struct WatchlistEvent: Hashable, Sendable {
    /// The kind of event: `online` or `offline`. Later versions of the protocol may have more kinds.
    public let name: String
    /// The ids of the users who came online or went offline.
    public let userIds: [String]

    /// Creates an event, for tests of your code.
    public init(name: String, userIds: [String]) {
        self.name = name
        self.userIds = userIds
    }
}
