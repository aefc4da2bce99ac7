/// Calls of a SignalR hub that a connection requests from the generator, by the path of the upgrade request.
public struct HubLoad: Hashable, Sendable {
    /// The path's beginning.
    public static let prefix = "/hub/"
    /// The hub's stream of strings, in JSON only.
    public static let streamMethod = "Orders"
    /// The client's method, with one string as its argument.
    public static let method = "OrderChanged"
    /// The hub's method that requests more calls.
    public static let goAheadMethod = "Go"
    /// The request of the JSON protocol that the reference sends first.
    public static let handshake = "{\"protocol\":\"json\",\"version\":1}\u{1E}"

    /// The messages of the hub.
    public enum Kind: Int, Sendable {
        /// Calls of the client, in JSON.
        case json
        /// Calls of the client, in MessagePack.
        case messagePack
        /// Items of the stream that the client requests, in JSON.
        case stream
        /// Calls of the client with an object as the argument, in JSON.
        case document
    }

    /// The messages, and their protocol.
    public var kind: Kind
    /// The size of the argument, in bytes.
    public var size: Int
    /// The number of calls.
    public var events: Int

    /// Makes a load of this many calls with an argument of this size. With zero calls, the hub only answers the
    /// client's calls.
    public init(_ kind: Kind, size: Int, events: Int) {
        self.kind = kind
        self.size = size
        self.events = events
    }

    /// Reads the load from a path; nil if the path describes no such load.
    public init?(path: String) {
        guard path.hasPrefix(Self.prefix) else { return nil }
        let parts = path.dropFirst(Self.prefix.count).prefix { $0 != "?" }.split(separator: "/")
        let numbers = parts.compactMap { Int($0) }
        guard parts.count == 3, numbers.count == 3, numbers.allSatisfy({ $0 >= 0 }),
            let kind = Kind(rawValue: numbers[0])
        else { return nil }
        self.init(kind, size: numbers[1], events: numbers[2])
    }

    /// The load as a path.
    public var path: String { "\(Self.prefix)\(kind.rawValue)/\(size)/\(events)" }

    /// The maximum number of pending calls. The hub sends this many calls at first, and half as many when the client
    /// requests more. The number is smaller than the client's buffer for a slow handler.
    public var window: Int { min(32_768, max(64, 16 * 1_024 * 1_024 / max(size, 1) & ~1)) }

    /// An item of a stream as the server sends it, in JSON.
    public func item(of stream: String) -> [UInt8] {
        let item = String(repeating: "x", count: size)
        return Array(#"{"type":2,"invocationId":"\#(stream)","item":"\#(item)"}"#.utf8) + [0x1E]
    }

    /// A call as the server sends it.
    public var message: [UInt8] {
        if kind == .document {
            let text = #"{"type":1,"target":"\#(Self.method)","arguments":[\#(Payload.json(size: size))]}"#
            return Array(text.utf8) + [0x1E]
        }
        let argument = String(repeating: "x", count: size)
        guard kind == .messagePack else {
            return Array(#"{"type":1,"target":"\#(Self.method)","arguments":["\#(argument)"]}"#.utf8) + [0x1E]
        }
        let method = [0xA0 | UInt8(Self.method.utf8.count)] + Self.method.utf8
        let text = [0xDA, UInt8(size >> 8 & 0xFF), UInt8(size & 0xFF)] + argument.utf8
        let body = [0x96, 0x01, 0x80, 0xC0] + method + [0x91] + text + [0x90]
        return [UInt8(body.count & 0x7F) | 0x80, UInt8(body.count >> 7)] + body
    }
}
