/// An event stream that a connection requests from the generator, by the path of the request.
public struct StreamLoad: Hashable, Sendable {
    /// The path's beginning.
    public static let prefix = "/stream/"

    /// The size of an event on the wire, in bytes.
    public var size: Int
    /// The requested number of events. The stream has ``total`` events.
    public var events: Int

    /// Makes a stream of at least this many events. The size of an event is at least 64 bytes.
    public init(size: Int, events: Int) {
        self.size = size
        self.events = events
    }

    /// Reads the stream from a path; nil if the path describes no such stream.
    public init?(path: String) {
        guard path.hasPrefix(Self.prefix) else { return nil }
        let numbers = path.dropFirst(Self.prefix.count).split(separator: "/").compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] >= 64, numbers[1] > 0 else { return nil }
        self.init(size: numbers[0], events: numbers[1])
    }

    /// The stream as a path.
    public var path: String { "\(Self.prefix)\(size)/\(events)" }

    /// An event as the server sends it.
    public var event: String { "data: \(Payload.json(size: size - 8))\n\n" }

    /// The number of events in one write, which has about 64 KiB.
    public var eventsPerBlock: Int { max(65_536 / size, 1) }

    /// The number of writes.
    public var blocks: Int { (events + eventsPerBlock - 1) / eventsPerBlock }

    /// The number of events in the stream, which consists of whole writes.
    public var total: Int { blocks * eventsPerBlock }
}
