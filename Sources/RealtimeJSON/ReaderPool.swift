import CRealtimeJSON

/// The place of a keyed container in an object. The document changes it, to use the container again.
struct ObjectReader {
    /// The number of keys whose names the reader keeps.
    static let nameCount = 64

    let tape: Tape
    private(set) var position = realtime_json_place()
    /// The names of the app's keys, if a key takes at most one byte, as the cases of nearly all enumerations do. The
    /// index is the value of this byte. So the reader asks each key for its string once, and not once for each object.
    let names: UnsafeMutablePointer<realtime_json_name>?

    init(tape: Tape, hasNames: Bool) {
        self.tape = tape
        guard hasNames else {
            names = nil
            return
        }
        let names = UnsafeMutablePointer<realtime_json_name>.allocate(capacity: Self.nameCount)
        names.initialize(repeating: realtime_json_name(), count: Self.nameCount)
        self.names = names
    }

    var object: Int { position.object }

    @inline(__always)
    mutating func begin(_ object: Int) {
        position.object = object
        position.end = tape.word(object).end
        position.cursor = object &+ Int(REALTIME_JSON_OBJECT_HEADER)
        position.asked = tape.hasPlainKeys(object) ? 0 : ~0
        position.asking = ~0
        position.searched = 0
    }

    /// Keeps the name of a key. If bytes cannot tell the key from others, the name gets a size that no key has.
    @inline(never)
    func remember(_ key: String, at id: Int) {
        guard let names else { return }
        let name = KeyName.inText(of: key, isConverted: tape.convertsKeys)
        let utf8 = (name ?? "").utf8
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: max(utf8.count, 1))
        _ = UnsafeMutableBufferPointer(start: bytes, count: utf8.count).initialize(from: utf8)
        names[id] = realtime_json_make_name(bytes, utf8.count)
        if name == nil { names[id].count = .max }
    }

    func deallocate() {
        guard let names else { return }
        for index in 0..<Self.nameCount { names[index].bytes?.deallocate() }
        names.deallocate()
    }
}

extension UnsafeMutablePointer<ObjectReader> {
    @inline(__always)
    var place: UnsafeMutablePointer<realtime_json_place> {
        (UnsafeMutableRawPointer(self) + MemoryLayout<ObjectReader>.offset(of: \.position).unsafelyUnwrapped)
            .assumingMemoryBound(to: realtime_json_place.self)
    }
}

/// The only stored property of a `KeyedDecodingContainer`, which is an object of the standard library.
///
/// The code only counts the references to the object, for which any class will do, but not `AnyObject`:
/// `isKnownUniquelyReferenced` would retain the object of an existential, and then is always false.
final class ContainerBox {
    private init() {}

    /// Whether a container has this one property only. A future version of the standard library might have more.
    static let isContainer = MemoryLayout<KeyedDecodingContainer<PathKey>>.size == MemoryLayout<ContainerBox>.size
}

/// The keyed containers of a document.
///
/// The standard library allocates an object for each keyed container. So the document uses a container again if nobody
/// else has a reference to its object.
struct ReaderPool {
    fileprivate struct Entry {
        let type: ObjectIdentifier
        var box: ContainerBox
        let reader: UnsafeMutablePointer<ObjectReader>

        func release() {
            reader.pointee.deallocate()
            reader.deallocate()
        }
    }

    /// The number of containers that a document keeps between two texts.
    private static let maximum = 16
    private var entries: UnsafeMutablePointer<Entry>
    private var capacity: Int
    private var count = 0

    init() {
        capacity = Self.maximum
        entries = .allocate(capacity: Self.maximum)
    }

    /// Returns the object of a container for a type of keys, which now reads the object at the index.
    @inline(__always)
    func take(for type: ObjectIdentifier, object: Int) -> ContainerBox? {
        // The newest containers come first: of a recursive type, the older ones are in use. The search has a limit,
        // because an app may keep any number of containers.
        var entry = entries + count
        let end = entries + max(0, count &- Self.maximum * 2)
        while entry > end {
            entry -= 1
            if entry.pointee.type == type, isKnownUniquelyReferenced(&entry.pointee.box) {
                entry.pointee.reader.pointee.begin(object)
                return entry.pointee.box
            }
        }
        return nil
    }

    mutating func add(_ box: ContainerBox, _ reader: UnsafeMutablePointer<ObjectReader>, _ type: ObjectIdentifier) {
        if count == capacity {
            let larger = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
            larger.moveInitialize(from: entries, count: count)
            entries.deallocate()
            entries = larger
            capacity *= 2
        }
        (entries + count).initialize(to: Entry(type: type, box: box, reader: reader))
        count += 1
    }

    /// Whether the app has kept a container.
    var hasKept: Bool {
        for index in 0..<count where !isKnownUniquelyReferenced(&entries[index].box) { return true }
        return false
    }

    /// Removes the containers that the app has kept. If there are too many others, removes them too.
    @inline(__always)
    mutating func removeKept(_ document: JSONDocument) {
        var entry = entries
        while entry < entries + count {
            if isKnownUniquelyReferenced(&entry.pointee.box) {
                entry += 1
            } else {
                KeptContainers.add(entry.move(), of: document)
                count -= 1
                if entry < entries + count { entry.moveInitialize(from: entries + count, count: 1) }
            }
        }
        if count > Self.maximum { removeAll() }
    }

    mutating func removeAll() {
        for index in 0..<count { entries[index].release() }
        entries.deinitialize(count: count)
        count = 0
    }

    mutating func deallocate() {
        removeAll()
        entries.deallocate()
    }
}

/// The keyed containers that apps keep after the call of the decoder has returned. This is rare.
///
/// The list keeps the documents of these containers alive, because the containers do not. When the list has doubled, it
/// drops the containers that the app has released.
final class KeptContainers {
    private struct Kept {
        var entry: ReaderPool.Entry
        let document: JSONDocument
    }

    private var list: [Kept] = []
    private var limit = 8

    /// Returns those that the app has released.
    private func add(_ kept: Kept) -> [Kept] {
        list.append(kept)
        guard list.count > limit else { return [] }
        var released: [Kept] = []
        var remaining: [Kept] = []
        for index in list.indices {
            if isKnownUniquelyReferenced(&list[index].entry.box) {
                released.append(list[index])
            } else {
                remaining.append(list[index])
            }
        }
        list = remaining
        limit = max(8, remaining.count * 2)
        return released
    }

    fileprivate static func add(_ entry: ReaderPool.Entry, of document: JSONDocument) {
        let content = realtime_json_lock_list()
        let containers = content.map { Unmanaged<KeptContainers>.fromOpaque($0) } ?? .passRetained(KeptContainers())
        let released = containers._withUnsafeGuaranteedRef { $0.add(Kept(entry: entry, document: document)) }
        realtime_json_unlock_list(containers.toOpaque())
        // The end of a document may add a container, so documents are released without the lock.
        for kept in released { kept.entry.release() }
    }
}
