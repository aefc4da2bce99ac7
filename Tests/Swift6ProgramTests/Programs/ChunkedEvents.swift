import Foundation
import PusherClient

/// Splits the data of long events into parts, and joins such parts.
///
/// Each part is a separate event. The name of this event is the name of the whole event, with the prefix `chunked-`. A
/// backend publishes long events in the same way.
struct ChunkedEvents: PayloadTransformer {
    /// In bytes of UTF-8. JSON in a part is escaped once more, which can double its size.
    var partSize = 4_000

    struct Part: Codable {
        var id: String
        var index: Int
        var count: Int
        var text: String
    }

    func makeReader(channelName: String) -> any PayloadReader { Reader() }

    func outgoing(_ payload: EventPayload) throws -> [EventPayload] {
        guard let data = payload.data, data.utf8.count > partSize else { return [payload] }
        let id = UUID().uuidString
        let texts = Self.parts(of: data, size: partSize)
        guard texts.count <= Self.maximumCount else { throw InvalidPart() }
        return try texts.enumerated().map { index, text in
            let part = Part(id: id, index: index, count: texts.count, text: text)
            var payload = payload
            payload.eventName = "client-chunked-" + payload.eventName.dropFirst("client-".count)
            payload.data = String(decoding: try JSONEncoder().encode(part), as: UTF8.self)
            return payload
        }
    }

    private static let maximumCount = 100

    private static func parts(of text: String, size: Int) -> [String] {
        var parts = [""]
        for character in text {
            if parts[parts.count - 1].utf8.count + character.utf8.count > size { parts.append("") }
            parts[parts.count - 1].append(character)
        }
        return parts
    }

    struct Reader: PayloadReader {
        /// The parts of a message so far. Only a sender with the same user id can add to it.
        private struct Unfinished {
            let key: [String?]
            let count: Int
            var texts: [Int: String] = [:]
        }

        /// Oldest first.
        private var unfinished: [Unfinished] = []

        mutating func incoming(_ payload: EventPayload) throws -> [EventPayload] {
            let (prefix, name) = Self.split(payload.eventName)
            guard let name else { return [payload] }
            let part = try JSONDecoder().decode(Part.self, from: Data((payload.data ?? "").utf8))
            guard (1...ChunkedEvents.maximumCount).contains(part.count), (0..<part.count).contains(part.index) else {
                throw InvalidPart()
            }
            let key = [payload.userId, payload.eventName, part.id]
            let place = unfinished.firstIndex { $0.key == key }
            var message = place.map { unfinished.remove(at: $0) } ?? Unfinished(key: key, count: part.count)
            guard message.count == part.count, message.texts.updateValue(part.text, forKey: part.index) == nil else {
                throw InvalidPart()
            }
            guard message.texts.count == message.count else {
                unfinished.append(message)
                // Incomplete messages of others must not pile up.
                if unfinished.count > 16 { unfinished.removeFirst() }
                return []
            }
            var whole = payload
            whole.eventName = prefix + name
            whole.data = (0..<message.count).compactMap { message.texts[$0] }.joined()
            return [whole]
        }

        private static func split(_ eventName: String) -> (prefix: String, name: String?) {
            for prefix in ["", "client-"] where eventName.hasPrefix(prefix + "chunked-") {
                return (prefix, String(eventName.dropFirst(prefix.count + "chunked-".count)))
            }
            return ("", nil)
        }
    }

    struct InvalidPart: Error {}
}
