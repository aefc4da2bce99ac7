/// JSON text that is written from the beginning to the end, and the containers that are open.
///
/// Types usually encode one container after the other, and each key once. A container that is used after its
/// end or in turns with another one, and a repeated key, set ``needsFoundation``.
struct EncodedText {
    /// A container that is open.
    private struct Frame {
        /// The number of the value that the container belongs to.
        var owner: UInt32
        var isObject: Bool
        var count = 0
        /// The index of the container's first key in `keys`.
        var firstKey: Int
    }

    /// The number of keys of an object that are searched one by one.
    private static let fewKeys = 64

    /// Whether `JSONEncoder` must encode the value again.
    var needsFoundation = false
    private(set) var count = 0
    private var capacity = 512
    private var start = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
    private var frames: [Frame] = []
    /// The hashes of the keys of the open objects.
    private var keys: [UInt64] = []
    /// The hashes of the further keys of objects with many keys, by the object's depth.
    private var furtherKeys: [Int: Set<UInt64>] = [:]
    private var lastNumber: UInt32 = 0
    /// The number of the value that was last written without a container.
    private var lastSingle: UInt32 = 0

    func deallocate() { start.deallocate() }

    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }
    /// The number of open containers.
    var depth: Int { frames.count }

    mutating func makeNumber() -> UInt32 {
        lastNumber &+= 1
        return lastNumber
    }

    // MARK: Containers

    /// Opens the container of a value, or continues it.
    mutating func open(_ isObject: Bool, for number: UInt32, at depth: Int) -> ContainerPosition {
        close(to: depth + 1)
        if frames.count > depth {
            // A value has one container, which may be asked for several times.
            if frames[depth].owner != number || frames[depth].isObject != isObject { needsFoundation = true }
        } else {
            if frames.count != depth || lastSingle == number { needsFoundation = true }
            push(isObject, number)
        }
        return ContainerPosition(depth: depth, owner: number)
    }

    /// Opens a container in the place of a value.
    mutating func openNested(_ isObject: Bool) -> ContainerPosition {
        let number = makeNumber()
        push(isObject, number)
        return ContainerPosition(depth: frames.count - 1, owner: number)
    }

    private mutating func push(_ isObject: Bool, _ owner: UInt32) {
        write(byte: UInt8(ascii: isObject ? "{" : "["))
        frames.append(Frame(owner: owner, isObject: isObject, firstKey: keys.count))
    }

    mutating func close(to depth: Int) {
        while frames.count > depth, let frame = frames.popLast() {
            write(byte: UInt8(ascii: frame.isObject ? "}" : "]"))
            if keys.count - frame.firstKey == Self.fewKeys { furtherKeys[frames.count] = nil }
            keys.removeLast(keys.count - frame.firstKey)
        }
    }

    /// The number of elements in a container. The number of a closed one is unknown.
    mutating func count(at position: ContainerPosition) -> Int {
        guard position.depth < frames.count, frames[position.depth].owner == position.owner else {
            needsFoundation = true
            return 0
        }
        return frames[position.depth].count
    }

    /// Begins an element. Returns whether the container is still open.
    mutating func begin(at position: ContainerPosition) -> Bool {
        close(to: position.depth + 1)
        guard frames.count == position.depth + 1, frames[position.depth].owner == position.owner else { return false }
        if frames[position.depth].count > 0 { write(byte: UInt8(ascii: ",")) }
        frames[position.depth].count += 1
        return true
    }

    /// Begins a member. Returns whether the container is still open, and the key is new. `JSONEncoder` keeps the last
    /// value of a repeated key.
    mutating func begin(_ name: String, at position: ContainerPosition) -> Bool {
        guard begin(at: position) else { return false }
        let hash = write(string: name)
        write(byte: UInt8(ascii: ":"))
        let first = frames[position.depth].firstKey
        for index in first..<keys.count where keys[index] == hash { return false }
        guard keys.count - first == Self.fewKeys else {
            keys.append(hash)
            return true
        }
        return furtherKeys[position.depth, default: []].insert(hash).inserted
    }

    /// Begins a value that has no container.
    mutating func beginSingle(_ number: UInt32, at depth: Int) {
        if frames.count != depth || lastSingle == number { needsFoundation = true }
    }

    mutating func endSingle(_ number: UInt32) { lastSingle = number }

    // MARK: Text

    private mutating func reserve(_ size: Int) { if capacity &- count < size { grow(size) } }

    @inline(never)
    private mutating func grow(_ size: Int) {
        capacity = 2 * (count + size)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        start.deallocate()
        start = larger
    }

    private mutating func write(byte: UInt8) {
        reserve(1)
        start[count] = byte
        count &+= 1
    }

    /// Writes text that needs no escapes.
    mutating func write(raw text: StaticString) {
        write(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes a number without the decimal places that it does not need.
    mutating func write(number: String) {
        var number = number
        number.withUTF8 { text in
            let isWhole =
                text.count > 2 && text[text.count - 2] == UInt8(ascii: ".") && text[text.count - 1] == UInt8(ascii: "0")
            write(UnsafeBufferPointer(rebasing: text[..<(text.count - (isWhole ? 2 : 0))]))
        }
    }

    private mutating func write(_ text: UnsafeBufferPointer<UInt8>) {
        guard let base = text.baseAddress else { return }
        reserve(text.count)
        (start + count).update(from: base, count: text.count)
        count &+= text.count
    }

    mutating func write(integer value: some FixedWidthInteger) {
        guard let small = Int64(exactly: value) else { return write(number: String(value)) }
        reserve(20)
        var rest = small.magnitude
        var size = small < 0 ? 2 : 1
        var limit: UInt64 = 10
        while size < 20, rest >= limit {
            size &+= 1
            limit = limit &* 10
        }
        count &+= size
        var end = start + count
        repeat {
            end -= 1
            end.pointee = UInt8(truncatingIfNeeded: rest % 10) &+ UInt8(ascii: "0")
            rest /= 10
        } while rest > 0
        if small < 0 { (end - 1).pointee = UInt8(ascii: "-") }
    }

    /// Writes a string with its quotes. Returns a hash of the string.
    @discardableResult
    mutating func write(string: String) -> UInt64 {
        var string = string
        return string.withUTF8 { write(string: $0) }
    }

    private mutating func write(string text: UnsafeBufferPointer<UInt8>) -> UInt64 {
        reserve(text.count + 2)
        write(byte: UInt8(ascii: "\""))
        var hash = UInt64(truncatingIfNeeded: text.count)
        var index = 0
        while index < text.count {
            let rest = text.count &- index
            if rest >= 8, let base = text.baseAddress {
                let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
                if !Self.mustEscape(word) {
                    UnsafeMutableRawPointer(start + count).storeBytes(of: word, as: UInt64.self)
                    hash = Self.mix(hash, word)
                    count &+= 8
                    index &+= 8
                    continue
                }
            }
            let byte = text[index]
            hash = Self.mix(hash, UInt64(byte))
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                write(escaping: byte)
                reserve(rest + 1)
            } else {
                start[count] = byte
                count &+= 1
            }
            index &+= 1
        }
        write(byte: UInt8(ascii: "\""))
        return hash
    }

    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
        return product ^ (product >> 32)
    }

    /// Whether one of the eight bytes is a control character, a quote or a backslash.
    private static func mustEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let (quotes, backslashes) = (word ^ (ones &* 0x22), word ^ (ones &* 0x5C))
        let controls = (word &- (ones &* 0x20)) & ~word
        let others = ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
        return (controls | others) & (ones &* 0x80) != 0
    }

    private mutating func write(escaping byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\n"): write(raw: "\\n")
        case UInt8(ascii: "\r"): write(raw: "\\r")
        case UInt8(ascii: "\t"): write(raw: "\\t")
        case ..<0x20:
            write(raw: byte < 16 ? "\\u000" : "\\u001")
            let digit = byte & 15
            write(byte: digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        default:
            write(byte: UInt8(ascii: "\\"))
            write(byte: byte)
        }
    }
}

/// The place of a container among the open containers.
struct ContainerPosition {
    var depth: Int
    /// The number of the value that the container belongs to.
    var owner: UInt32
}
