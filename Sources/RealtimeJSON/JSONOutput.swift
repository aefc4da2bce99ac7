import Foundation

/// JSON text that a value writes, and what only `JSONEncoder` can do.
final class JSONOutput {
    /// The failure of an encoding that `JSONEncoder` must repeat. It makes the error for the app.
    struct Unsupported: Error {}

    // With a stored property, the runtime would check each access for conflicts. These checks would take half of the time.
    private let state = UnsafeMutablePointer<EncodedText>.allocate(capacity: 1)
    private let dateText: (@Sendable (Date) -> String?)?

    init(dateText: (@Sendable (Date) -> String?)?) {
        self.dateText = dateText
        state.initialize(to: EncodedText())
    }

    deinit {
        state.pointee.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// The text; nil if only `JSONEncoder` can write it.
    var result: [UInt8]? { state.pointee.needsFoundation ? nil : state.pointee.bytes }

    // MARK: Values

    func write<Value: Encodable>(_ value: Value) throws {
        if Value.self == String.self {
            write(string: cast(value))
        } else if Value.self == Int.self {
            write(integer: cast(value) as Int)
        } else if Value.self == Double.self {
            try write(float: cast(value) as Double)
        } else if Value.self == Date.self {
            try write(date: cast(value))
        } else if Value.self == Data.self {
            write(string: (cast(value) as Data).base64EncodedString())
        } else if Value.self == URL.self {
            write(string: (cast(value) as URL).absoluteString)
        } else if Value.self == Decimal.self {
            let decimal: Decimal = cast(value)
            guard decimal.isFinite else { throw unsupported() }
            state.pointee.write(number: decimal.description)
        } else {
            try writeOther(value)
        }
    }

    private func cast<From, To>(_ value: From) -> To { unsafeBitCast(value, to: To.self) }

    private func writeOther(_ value: some Encodable) throws {
        let (depth, length) = (state.pointee.depth, state.pointee.count)
        do {
            try value.encode(to: ValueEncoder(output: self, depth: depth, number: state.pointee.makeNumber()))
        } catch {
            // The app may ignore the error, but part of the value may be written.
            throw unsupported()
        }
        state.pointee.close(to: depth)
        // `JSONEncoder` writes an empty object, or has an error.
        if state.pointee.count == length { state.pointee.needsFoundation = true }
    }

    private func write(date: Date) throws {
        guard let dateText else { return try write(float: date.timeIntervalSinceReferenceDate) }
        guard let text = dateText(date) else { throw unsupported() }
        write(string: text)
    }

    func write(_ value: Bool) { value ? state.pointee.write(raw: "true") : state.pointee.write(raw: "false") }
    func writeNull() { state.pointee.write(raw: "null") }
    func write(integer value: some FixedWidthInteger) { state.pointee.write(integer: value) }
    func write(string: String) { state.pointee.write(string: string) }

    func write(float value: some BinaryFloatingPoint & LosslessStringConvertible) throws {
        guard value.isFinite else { throw unsupported() }
        if let integer = Int32(exactly: value), integer != 0 { return write(integer: integer) }
        state.pointee.write(number: value.description)
    }

    // MARK: Containers

    func open(_ isObject: Bool, for number: UInt32, at depth: Int) -> ContainerPosition {
        state.pointee.open(isObject, for: number, at: depth)
    }

    func openNested(_ isObject: Bool) -> ContainerPosition { state.pointee.openNested(isObject) }
    func count(at position: ContainerPosition) -> Int { state.pointee.count(at: position) }

    /// Begins an element.
    func begin(at position: ContainerPosition) throws { if !state.pointee.begin(at: position) { throw unsupported() } }

    /// Begins a member.
    func begin(_ key: some CodingKey, at position: ContainerPosition) throws {
        // The property may call the app.
        let name = key.stringValue
        if !state.pointee.begin(name, at: position) { throw unsupported() }
    }

    func beginSingle(_ number: UInt32, at depth: Int) { state.pointee.beginSingle(number, at: depth) }
    func endSingle(_ number: UInt32) { state.pointee.endSingle(number) }

    // MARK: What only JSONEncoder can do

    private func unsupported() -> Unsupported {
        state.pointee.needsFoundation = true
        return Unsupported()
    }

    /// The path is unknown, so `JSONEncoder` must encode a value that asks for it.
    func unsupportedPath() -> [any CodingKey] {
        state.pointee.needsFoundation = true
        return []
    }

    func unsupportedEncoder() -> any Encoder {
        state.pointee.needsFoundation = true
        return ValueEncoder(output: self, depth: state.pointee.depth, number: state.pointee.makeNumber())
    }
}
