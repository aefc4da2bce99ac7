/// An event stream that is asked of the generator. It stands in the path of the request.
public struct StreamLoad: Hashable, Sendable {
    /// The path's beginning.
    public static let prefix = "/stream/"

    /// How many bytes an event has on the wire.
    public var size: Int
    /// How many events there are, in whole blocks.
    public var events: Int

    /// A stream of at least so many events of a size, which is at least 16 bytes.
    public init(size: Int, events: Int) {
        self.size = size
        self.events = events
    }

    /// Reads a path; nil where it is of nothing like that.
    public init?(path: String) {
        guard path.hasPrefix(Self.prefix) else { return nil }
        let numbers = path.dropFirst(Self.prefix.count).split(separator: "/").compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] >= 16, numbers[1] > 0 else { return nil }
        self.init(size: numbers[0], events: numbers[1])
    }

    /// The stream as a path.
    public var path: String { "\(Self.prefix)\(size)/\(events)" }

    /// An event as it is sent.
    public var event: String { "data: \(String(repeating: "x", count: size - 8))\n\n" }

    /// What is written at once: about 64 KiB.
    public var eventsPerBlock: Int { max(65_536 / size, 1) }

    /// How often it is written.
    public var blocks: Int { (events + eventsPerBlock - 1) / eventsPerBlock }

    /// How many events come.
    public var total: Int { blocks * eventsPerBlock }
}
