import CRealtimeJSON

/// A value in a JSON text that was scanned strictly. The node keeps the text in memory.
///
/// The client reads the protocols' own messages with nodes, because such messages have few members, and are often of
/// unknown types.
package struct JSONNode {
    private let document: JSONDocument
    private let index: Int

    private init(_ document: JSONDocument, _ index: Int) {
        self.document = document
        self.index = index
    }

    /// The kind of a value.
    package enum Kind: Hashable, Sendable {
        case null, bool, number, string, array, object
    }

    /// The largest depth that can be allowed. Foundation's decoder has the same limit.
    package static let maximumDepth = JSONDocument.maximumDepth

    /// Scans a JSON text by the rules of RFC 8259, and calls a closure with its value.
    ///
    /// - Parameters:
    ///   - text: Bytes that do not have to be UTF-8.
    ///   - maximumDepth: The largest number of levels of arrays and objects.
    ///   - body: A closure that may keep the node.
    /// - Throws: ``JSONSyntaxError``, or the closure's error.
    package static func read<Result>(
        _ text: UnsafeRawBufferPointer,
        maximumDepth: Int = Self.maximumDepth,
        _ body: (JSONNode) throws -> Result
    ) throws -> Result {
        var document = JSONDocument.take()
        defer { JSONDocument.giveBack(&document) }
        try document.tape.loadStrictly(text, maximumDepth: maximumDepth)
        return try body(JSONNode(document, 0))
    }

    /// The same for text that is a string.
    package static func read<Result>(
        _ text: String,
        maximumDepth: Int = Self.maximumDepth,
        _ body: (JSONNode) throws -> Result
    ) throws -> Result {
        var text = text
        return try text.withUTF8 { try read(UnsafeRawBufferPointer($0), maximumDepth: maximumDepth, body) }
    }

    private var tape: Tape { document.tape }
    private var word: Word { tape.word(index) }

    package var kind: Kind {
        switch word.kind {
        case REALTIME_JSON_NULL: .null
        case REALTIME_JSON_FALSE, REALTIME_JSON_TRUE: .bool
        case REALTIME_JSON_INTEGER, REALTIME_JSON_NUMBER: .number
        case REALTIME_JSON_ARRAY: .array
        case REALTIME_JSON_OBJECT: .object
        default: .string
        }
    }

    package var isNull: Bool { word.isNull }

    package var bool: Bool? { kind == .bool ? word.kind == REALTIME_JSON_TRUE : nil }

    /// The text of a string; nil for any other value. Bytes that are not UTF-8, and halves of surrogate pairs, become
    /// U+FFFD.
    package var string: String? { word.isString ? tape.repairedString(word) : nil }

    /// Whether the value is a string with escapes.
    package var hasEscapes: Bool { word.kind == REALTIME_JSON_ESCAPED }

    /// The characters of a number; nil for any other value.
    package var number: String? { word.isNumber ? String(decoding: tape.text(word), as: UTF8.self) : nil }

    /// The offsets of the value in the text.
    package var range: Range<Int> { tape.range(of: index) }

    /// The value as JSON text. Bytes that are not UTF-8 become U+FFFD.
    package var text: String {
        let range = range
        return String(
            decoding: UnsafeBufferPointer(start: tape.bytes + range.lowerBound, count: range.count),
            as: UTF8.self
        )
    }

    /// The names and values of an object's members in their order; empty for any other value.
    package var members: [(name: String, value: JSONNode)] {
        var members: [(name: String, value: JSONNode)] = []
        guard word.kind == REALTIME_JSON_OBJECT else { return members }
        members.reserveCapacity(word.length)
        tape.forEachMember(of: index) { key, value in
            members.append((tape.repairedString(key) ?? "", JSONNode(document, value)))
            return true
        }
        return members
    }

    /// The value of an object's last member with the name, compared byte by byte; nil if there is none.
    package subscript(name: String) -> JSONNode? {
        members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// The keys of an object's members in their order; empty for any other value.
    package var keys: [JSONNode] {
        var keys: [JSONNode] = []
        guard word.kind == REALTIME_JSON_OBJECT else { return keys }
        tape.forEachMember(of: index) { _, value in
            keys.append(JSONNode(document, value - 1))
            return true
        }
        return keys
    }

    /// The elements of an array in their order; empty for any other value.
    package var elements: [JSONNode] {
        var elements: [JSONNode] = []
        guard word.kind == REALTIME_JSON_ARRAY else { return elements }
        elements.reserveCapacity(word.length)
        var next = index + Int(REALTIME_JSON_ARRAY_HEADER)
        while next < word.end {
            elements.append(JSONNode(document, next))
            next = tape.index(after: next)
        }
        return elements
    }
}
