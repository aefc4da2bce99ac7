package import ServerSentEvents

/// The results of a parser after it has read a stream.
package struct ParserRun: Equatable {
    package var elements: [EventStreamParser.Element] = []
    package var lastEventID = ""
    package var reconnectionTime: Int64?
    package var isTooLarge = false

    package var events: [ServerSentEvent] {
        elements.compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    package init() {}

    /// Runs a parser over the chunks. The closure gets each result at once, with the number of its chunk.
    package init(
        _ chunks: [[UInt8]],
        limit: Int = 16 << 20,
        reportsComments: Bool = true,
        lastEventID: String = "",
        _ reportsAtOnce: (Int, EventStreamParser.Element) -> Void = { _, _ in }
    ) {
        var parser = EventStreamParser(lastEventID: lastEventID, limit: limit, reportsComments: reportsComments)
        do {
            for (number, chunk) in chunks.enumerated() {
                try parser.read(chunk) { element in
                    elements.append(element)
                    reportsAtOnce(number, element)
                }
            }
        } catch {
            isTooLarge = error is EventStreamParser.TooLarge
        }
        self.lastEventID = parser.lastEventID
        reconnectionTime = parser.reconnectionTime
    }

    package init(_ text: String, limit: Int = 16 << 20) { self.init([Array(text.utf8)], limit: limit) }
}

extension EventStreamParser {
    package mutating func elements(_ chunk: [UInt8]) throws -> [Element] {
        var elements: [Element] = []
        try read(chunk) { elements.append($0) }
        return elements
    }

    /// Reads a chunk. The closure gets each result, including the results before an error.
    fileprivate mutating func read(_ chunk: [UInt8], _ report: (Element) -> Void) throws {
        var start = 0
        while start < chunk.count {
            let (count, element) = try chunk[start...].withUnsafeBytes { try read($0) }
            start += count
            if let element { report(element) }
        }
    }
}

extension [UInt8] {
    package func cut(at places: [Int]) -> [[UInt8]] {
        zip([0] + places, places + [count]).map { Array(self[$0..<$1]) }
    }

    package var bytewise: [[UInt8]] { map { [$0] } }
}
