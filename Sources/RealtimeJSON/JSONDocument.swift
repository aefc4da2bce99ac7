import CRealtimeJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The reason why a text is not accepted as JSON.
package enum JSONSyntaxError: Error, Hashable, Sendable {
    /// The value is the offset of the first wrong byte.
    case malformed(offset: Int)
    /// There are more levels of arrays and objects than allowed.
    case tooDeep(offset: Int)
    /// The text has ``JSONDocument/maximumSize`` bytes or more, or there is not enough memory.
    case tooLarge
}

/// A JSON text with its tape, which `CRealtimeJSON.h` describes.
///
/// Each thread keeps one document, and uses its memory for the next text. The document copies the text. So the scanner
/// can rely on the zero bytes after the text, and the text lives as long as any container or decoder that the app keeps.
final class JSONDocument {
    static let maximumSize = Int(REALTIME_JSON_MAXIMUM_SIZE)
    static let maximumDepth = Int(REALTIME_JSON_MAXIMUM_DEPTH)

    let tape: Tape

    init() {
        tape = Tape()
        tape.storage.pointee.document = Unmanaged.passUnretained(self)
    }

    /// Takes over the content of a document that is about to be released.
    private init(heirOf document: JSONDocument) {
        tape = document.tape
        tape.storage.pointee.document = Unmanaged.passUnretained(self)
    }

    deinit {
        // The app may have kept a decoder, and then a container of that decoder only.
        if tape.storage.pointee.readers.hasKept {
            tape.storage.pointee.readers.removeKept(JSONDocument(heirOf: self))
        } else {
            tape.deallocate()
        }
    }

    // MARK: The thread's document

    /// Returns the thread's document, or a new one while the thread is using it.
    @inline(__always)
    static func take() -> JSONDocument {
        guard let taken = realtime_json_take_object() else { return JSONDocument() }
        return Unmanaged<JSONDocument>.fromOpaque(taken).takeRetainedValue()
    }

    /// Makes a document the thread's document again, unless something of it is still in use.
    @inline(__always)
    static func giveBack(_ document: inout JSONDocument) {
        document.tape.storage.pointee.readers.removeKept(document)
        guard isKnownUniquelyReferenced(&document), document.tape.reset() else { return }
        let other = realtime_json_keep_object(Unmanaged.passRetained(document).toOpaque()) { object in
            if let object { Unmanaged<JSONDocument>.fromOpaque(object).release() }
        }
        if let other { Unmanaged<JSONDocument>.fromOpaque(other).release() }
    }
}

/// The content of a ``JSONDocument``, without a reference to the document. Most of the work is done with this type,
/// because each copy of a reference would take time.
struct Tape {
    struct Storage {
        var bytes: UnsafeMutablePointer<UInt8>
        /// In bytes, with the padding.
        var capacity: Int
        var tape = realtime_json_tape()
        var readers = ReaderPool()
        var document: Unmanaged<JSONDocument>?
        var options = JSONDecodingOptions()
        /// The values of the members by their names, for objects in which a search would take too long.
        var dictionaries: [Int: [String: Int]] = [:]
        /// The path to the value of the previous error.
        var steps: [Step] = []
        /// The paths of values that are not in the text.
        var missingValues: [Int: [any CodingKey]] = [:]
    }

    let storage: UnsafeMutablePointer<Storage>

    fileprivate init() {
        storage = .allocate(capacity: 1)
        let capacity = 1024
        storage.initialize(to: Storage(bytes: .allocate(capacity: capacity), capacity: capacity))
    }

    fileprivate func deallocate() {
        storage.pointee.readers.deallocate()
        storage.pointee.bytes.deallocate()
        free(storage.pointee.tape.words)
        storage.deinitialize(count: 1)
        storage.deallocate()
    }

    @inline(__always) var bytes: UnsafeMutablePointer<UInt8> { storage.pointee.bytes }
    @inline(__always) var words: UnsafeMutablePointer<UInt64> { storage.pointee.tape.words.unsafelyUnwrapped }
    @inline(__always) var document: JSONDocument {
        storage.pointee.document.unsafelyUnwrapped.takeUnretainedValue()
    }

    // MARK: Loading

    /// Copies a text, and scans it as Foundation's decoder does.
    @inline(__always)
    func load(_ text: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
        try copy(text)
        try check(realtime_json_scan(bytes, text.count, &storage.pointee.tape))
    }

    /// Copies a text, and scans it by the rules of RFC 8259.
    func loadStrictly(_ text: UnsafeRawBufferPointer, maximumDepth: Int) throws(JSONSyntaxError) {
        try copy(text)
        let depth = UInt32(clamping: maximumDepth)
        try check(realtime_json_scan_strictly(bytes, text.count, depth, &storage.pointee.tape))
    }

    @inline(__always)
    private func copy(_ text: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
        let padding = Int(REALTIME_JSON_PADDING)
        guard text.count < JSONDocument.maximumSize else { throw .tooLarge }
        if storage.pointee.capacity < text.count + padding { grow(to: text.count + padding) }
        if let start = text.baseAddress { memcpy(storage.pointee.bytes, start, text.count) }
        memset(storage.pointee.bytes + text.count, 0, padding)
    }

    @inline(never)
    private func grow(to capacity: Int) {
        storage.pointee.bytes.deallocate()
        storage.pointee.bytes = .allocate(capacity: capacity)
        storage.pointee.capacity = capacity
    }

    @inline(__always)
    private func check(_ result: realtime_json_result) throws(JSONSyntaxError) {
        guard result.status == REALTIME_JSON_VALID else { throw Self.error(result) }
    }

    @inline(never)
    private static func error(_ result: realtime_json_result) -> JSONSyntaxError {
        switch result.status {
        case REALTIME_JSON_TOO_DEEP: .tooDeep(offset: result.offset)
        case REALTIME_JSON_NO_MEMORY: .tooLarge
        default: .malformed(offset: result.offset)
        }
    }

    /// Prepares for another text. Returns false if the document is too large to keep.
    @inline(__always)
    fileprivate func reset() -> Bool {
        if !storage.pointee.dictionaries.isEmpty { storage.pointee.dictionaries = [:] }
        if !storage.pointee.steps.isEmpty { storage.pointee.steps.removeAll(keepingCapacity: true) }
        if !storage.pointee.missingValues.isEmpty { storage.pointee.missingValues = [:] }
        return storage.pointee.capacity <= 256 * 1024 && storage.pointee.tape.capacity <= 32 * 1024
    }

    // MARK: Values

    @inline(__always) func word(_ index: Int) -> Word { Word(bits: words[index]) }

    /// Returns the index of the value after the value at the index.
    @inline(__always)
    func index(after index: Int) -> Int {
        let word = word(index)
        return word.isContainer ? word.end : index &+ 1
    }

    /// The bytes of a scalar; of a string without its quotation marks.
    @inline(__always)
    func text(_ word: Word) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + word.offset, count: word.length)
    }

    /// The offsets of a value in the text, with quotation marks and brackets.
    func range(of index: Int) -> Range<Int> {
        let word = word(index)
        if word.isContainer {
            let span = words[index + 1]
            return Int(span & 0xFFFF_FFFF)..<Int(span &>> 32)
        }
        let range = word.offset..<word.offset + word.length
        return word.isString ? range.lowerBound - 1..<range.upperBound + 1 : range
    }

    /// Calls a closure for each member of an object, until the closure returns false.
    @inline(__always)
    func forEachMember(of object: Int, _ body: (_ key: Word, _ value: Int) throws -> Bool) rethrows {
        let end = word(object).end
        var index = object &+ Int(REALTIME_JSON_OBJECT_HEADER)
        while index < end {
            guard try body(word(index), index &+ 1) else { return }
            index = self.index(after: index &+ 1)
        }
    }
}

/// A word of the tape.
struct Word {
    let bits: UInt64

    @inline(__always) var kind: realtime_json_kind { realtime_json_kind(UInt32(truncatingIfNeeded: bits) & 0xF) }
    @inline(__always) var isContainer: Bool { kind.rawValue >= REALTIME_JSON_OBJECT.rawValue }
    @inline(__always) var isString: Bool { kind.rawValue &- REALTIME_JSON_ASCII.rawValue <= 2 }
    @inline(__always) var isNumber: Bool { kind == REALTIME_JSON_INTEGER || kind == REALTIME_JSON_NUMBER }
    @inline(__always) var isNull: Bool { kind == REALTIME_JSON_NULL }
    /// The number of bytes of a scalar, of an object's members, or of an array's elements.
    @inline(__always) var length: Int { Int(UInt32(truncatingIfNeeded: bits) &>> 4) }
    /// The offset of a scalar in the text.
    @inline(__always) var offset: Int { Int(truncatingIfNeeded: bits &>> 32) }
    /// The index after a container.
    @inline(__always) var end: Int { Int(truncatingIfNeeded: bits &>> 32) }
}
