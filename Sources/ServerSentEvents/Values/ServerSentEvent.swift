/// An event of an event stream.
public struct ServerSentEvent: Hashable, Sendable {
    /// The event's type. Default: `message`.
    public var event: String
    /// The event's data. If the server sent more than one line, they are joined by line feeds.
    public var data: String
    /// The id of the last event that had one, this event included. Empty if there was none.
    public var id: String

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - event: The type. Default: `message`.
    ///   - data: The data.
    ///   - id: The last event id. Default: empty.
    public init(event: String = "message", data: String, id: String = "") {
        self.event = event
        self.data = data
        self.id = id
    }
}
