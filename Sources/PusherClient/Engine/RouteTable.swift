import Foundation
import PusherProtocol

/// The listeners for the events of one name on one channel.
final class Route {
    let eventName: String
    let channelName: String?
    private(set) var recipients: EventRecipients
    /// The count of changes for which the recipients is valid.
    private(set) var count: Int
    /// See ``EventRecipients/onlyCallback``.
    private(set) var onlyCallback: Binding?

    init(eventName: String, channelName: String?, _ recipients: EventRecipients) {
        self.eventName = eventName
        self.channelName = channelName
        self.recipients = recipients
        count = recipients.count
        onlyCallback = recipients.onlyCallback
    }

    func update(_ recipients: EventRecipients) {
        self.recipients = recipients
        count = recipients.count
        onlyCallback = recipients.onlyCallback
    }

    @inline(__always)
    fileprivate func matches(_ message: PlainMessage, of bytes: Span<UInt8>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            Self.areEqual(bytes, message.event, eventName) && Self.areEqual(bytes, message.channel, channelName ?? "")
        }
    }

    @inline(__always)
    private static func areEqual(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ name: String) -> Bool {
        name.utf8.withContiguousStorageIfAvailable { name in
            guard range.count == name.count else { return false }
            guard let name = name.baseAddress, let bytes = bytes.baseAddress else { return true }
            return memcmp(name, bytes + range.lowerBound, range.count) == 0
        } ?? false
    }
}

/// The routes of earlier events. Each route leads from the bytes of an event's names to the listeners of the event, so
/// a lookup does not need the machine. Only the event loop uses the table.
final class RouteTable {
    /// The maximum number of routes. A server can fill the table with names, so the client empties a full table.
    static let limit = 16_384

    private var routes: [Int: Route] = [:]
    private var last: Route?
    /// The recipients of the last event that has no route, because the event changes a state or is encrypted.
    var lastRecipients: EventRecipients?

    var count: Int { routes.count }

    func route(for message: PlainMessage, of bytes: Span<UInt8>) -> Route? {
        if let last, last.matches(message, of: bytes) { return last }
        guard let route = routes[Self.hash(message, of: bytes)], route.matches(message, of: bytes) else { return nil }
        last = route
        return route
    }

    func add(_ route: Route, for message: PlainMessage, of bytes: Span<UInt8>) {
        if routes.count >= Self.limit { removeAll() }
        routes[Self.hash(message, of: bytes)] = route
        last = route
    }

    func removeAll() {
        routes = [:]
        last = nil
        lastRecipients = nil
    }

    /// Hashes the names of a message. A new route replaces a route with an equal hash.
    private static func hash(_ message: PlainMessage, of bytes: Span<UInt8>) -> Int {
        var hasher = Hasher()
        bytes.withUnsafeBytes { bytes in
            hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes[message.event]))
            hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes[message.channel]))
        }
        return hasher.finalize()
    }
}
