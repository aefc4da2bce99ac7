import CRealtimeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Tape {
    /// Decodes a value of any type.
    func value<T: Decodable>(_ type: T.Type, at index: Int) throws -> T {
        if type == Date.self || type == Data.self || type == URL.self || type == Decimal.self {
            return try foundationValue(type, at: index)
        }
        // Without the following cases, the type would make a container for its own value. If the value is of the wrong
        // kind, the type does so, and the error is the same.
        let word = word(index)
        if !word.isContainer {
            if type == String.self { return cast(try string(at: index)) }
            if type == Int.self { return cast(try integer(Int.self, at: index)) }
            if type == Double.self { return cast(try double(at: index)) }
            if type == Bool.self { return cast(try bool(at: index)) }
        } else if word.kind == REALTIME_JSON_ARRAY {
            if type == [String].self { return cast(try array(at: index, string(at:))) }
            if type == [Int].self { return cast(try array(at: index) { try integer(Int.self, at: $0) }) }
            if type == [Double].self { return cast(try array(at: index, double(at:))) }
            if let type = type as? any DecodableArray.Type { return try decode(type, at: index) }
        } else {
            if type == [String: String].self { return cast(try dictionary(at: index, string(at:))) }
            // The look-up of a conformance takes a while, so the size of the type is compared first.
            if MemoryLayout<T>.size == MemoryLayout<[String: String]>.size,
                let type = type as? any DecodableDictionary.Type
            {
                return try decode(type, at: index)
            }
        }
        return try T(from: decoder(of: index))
    }

    @inline(__always)
    private func decode<A: DecodableArray, T>(_ type: A.Type, at index: Int) throws -> T {
        cast(try type.init(decoding: self, at: index))
    }

    @inline(__always)
    private func decode<D: DecodableDictionary, T>(_ type: D.Type, at index: Int) throws -> T {
        cast(try type.init(decoding: self, at: index))
    }

    /// Returns a value whose type was compared with the other type.
    @inline(__always)
    private func cast<From, To>(_ value: From) -> To { unsafeBitCast(value, to: To.self) }

    /// The maximum memory that an array or a dictionary reserves before it has elements, in bytes. An element can take a
    /// hundred times as much memory as its text, and may not be of the right type.
    private static var maximumReservation: Int { 1 << 20 }

    @inline(__always)
    fileprivate func array<Element>(at index: Int, _ element: (Int) throws -> Element) rethrows -> [Element] {
        let count = word(index).length
        let reserved = min(count, Self.maximumReservation / max(1, MemoryLayout<Element>.stride))
        var next = index &+ Int(REALTIME_JSON_ARRAY_HEADER)
        var elements = try Array(unsafeUninitializedCapacity: reserved) { buffer, initialized in
            while initialized < reserved {
                buffer.initializeElement(at: initialized, to: try element(next))
                initialized &+= 1
                next = self.index(after: next)
            }
        }
        while elements.count < count {
            elements.append(try element(next))
            next = self.index(after: next)
        }
        return elements
    }

    @inline(__always)
    fileprivate func dictionary<Value>(at index: Int, _ value: (Int) throws -> Value) throws -> [String: Value] {
        try open(index, keyedBy: DictionaryKey.self)
        let size = MemoryLayout<String>.stride + MemoryLayout<Value>.stride
        var result = [String: Value](minimumCapacity: min(word(index).length, Self.maximumReservation / size))
        let isUnique = hasUniqueKeys(index)
        try forEachMember(of: index) { key, member in
            // `open` has checked the keys.
            let name = string(key) ?? ""
            if isUnique || result[name] == nil { result[name] = try value(member) }
            return true
        }
        return result
    }

    // MARK: Types of Foundation

    @inline(never)
    private func foundationValue<T: Decodable>(_ type: T.Type, at index: Int) throws -> T {
        if word(index).isNull { throw mismatch(type, at: index) }
        if type == Date.self { return cast(try date(at: index)) }
        if type == Decimal.self { return cast(try decimal(at: index)) }
        let text = try string(at: index)
        if type == URL.self {
            guard let url = URL(string: text) else { throw corrupted("Invalid URL string.", at: index) }
            return cast(url)
        }
        guard let data = Data(base64Encoded: text) else {
            throw corrupted("Encountered Data is not valid Base64.", at: index)
        }
        return cast(data)
    }

    private func date(at index: Int) throws -> Date {
        switch storage.pointee.options.dates {
        case .deferredToDate: return Date(timeIntervalSinceReferenceDate: try double(at: index))
        case .secondsSince1970: return Date(timeIntervalSince1970: try double(at: index))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try double(at: index) / 1000)
        case .iso8601:
            if let date = ISO8601.date(text(of: index), allowsFractions: false) { return date }
            guard let date = ISO8601.unusualDate(try string(at: index)) else { throw invalidDate(at: index) }
            return date
        case .iso8601WithFractions:
            if let date = ISO8601.date(text(of: index), allowsFractions: true) { return date }
            guard let date = ISO8601.unusualDateWithFractions(try string(at: index)) else {
                throw invalidDate(at: index)
            }
            return date
        }
    }

    private func text(of index: Int) -> UnsafeBufferPointer<UInt8> {
        let word = word(index)
        return word.kind == REALTIME_JSON_ASCII ? text(word) : UnsafeBufferPointer(start: nil, count: 0)
    }

    private func invalidDate(at index: Int) -> DecodingError {
        corrupted("Expected date string to be ISO8601-formatted.", at: index)
    }
}

/// An array that is decoded without a container: with one allocation, and without a look-up of types for each element.
private protocol DecodableArray {
    init(decoding tape: Tape, at index: Int) throws
}

extension Array: DecodableArray where Element: Decodable {
    init(decoding tape: Tape, at index: Int) throws {
        self = try tape.array(at: index) { try tape.value(Element.self, at: $0) }
    }
}

/// A dictionary that is decoded without a container.
private protocol DecodableDictionary {
    init(decoding tape: Tape, at index: Int) throws
}

extension Dictionary: DecodableDictionary where Key == String, Value: Decodable {
    init(decoding tape: Tape, at index: Int) throws {
        self = try tape.dictionary(at: index) { try tape.value(Value.self, at: $0) }
    }
}
