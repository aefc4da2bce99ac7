/// An event of an event stream.
public struct ServerSentEvent: Hashable, Sendable {
    /// The event's type. Default: `message`.
    public var event: String
    /// The event's data. If the server sent several lines of data, line feeds separate the lines.
    public var data: String
    /// The id of this event. If this event has no id, the property contains the id of the last event that had an id. It
    /// is empty if there was no such event.
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
