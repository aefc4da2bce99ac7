import CRealtimeJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The paths of values.
///
/// Nobody keeps paths while decoding. An error finds its path on the tape, which has the type of keys of each opened
/// object, so the path has the app's own keys.
extension Tape {
    /// A part of a path: a container, and the one of its values that contains the target.
    struct Step {
        let container: Int
        let isMember: Bool
        var value: Int
        var position = 0
    }

    /// Returns the path to a value. Some apps try one type after the other, so there may be many errors. The method
    /// continues at the path of the previous error.
    func path(to target: Int) -> [any CodingKey] {
        if !storage.pointee.missingValues.isEmpty, let path = storage.pointee.missingValues[target] { return path }
        while let step = storage.pointee.steps.last, target <= step.container || target >= word(step.container).end {
            storage.pointee.steps.removeLast()
        }
        if let last = storage.pointee.steps.indices.last {
            moveStep(last, to: target)
        } else if target != 0, word(0).isContainer {
            addStep(0, to: target)
        }
        while let step = storage.pointee.steps.last, step.value != target, word(step.value).isContainer {
            addStep(step.value, to: target)
        }
        return storage.pointee.steps.map { step in
            guard step.isMember else { return PathKey.index(step.position) }
            return key(word(step.value - 1), of: step.container)
        }
    }

    private func firstValue(of container: Int) -> Int {
        let isObject = word(container).kind == REALTIME_JSON_OBJECT
        return container + Int(isObject ? REALTIME_JSON_OBJECT_HEADER + 1 : REALTIME_JSON_ARRAY_HEADER)
    }

    private func addStep(_ container: Int, to target: Int) {
        let isMember = word(container).kind == REALTIME_JSON_OBJECT
        storage.pointee.steps.append(Step(container: container, isMember: isMember, value: firstValue(of: container)))
        moveStep(storage.pointee.steps.count - 1, to: target)
    }

    /// Moves a step to the value of its container that is the target or contains the target.
    private func moveStep(_ index: Int, to target: Int) {
        var step = storage.pointee.steps[index]
        if step.value > target {
            step.position = 0
            step.value = firstValue(of: step.container)
        }
        while self.index(after: step.value) <= target {
            step.value = self.index(after: step.value) + (step.isMember ? 1 : 0)
            step.position += 1
        }
        storage.pointee.steps[index] = step
    }

    private func key(_ word: Word, of object: Int) -> any CodingKey {
        // A dictionary's keys do not change.
        guard words[object + 3] != 0 else { return PathKey.name(string(word) ?? "") }
        let type = UnsafeRawPointer(words + object + 3).load(as: (any CodingKey.Type).self)
        let name = (type == DictionaryKey.self ? string(word) : name(word)) ?? ""
        return type.init(stringValue: name) ?? PathKey.name(name)
    }

    /// Returns the index of a null that is not in the text, for the decoder of a superclass whose key is missing.
    ///
    /// - Throws: An error if there is not enough memory.
    func addMissingValue(_ path: [any CodingKey]) throws -> Int {
        let index = max(self.index(after: 0), (storage.pointee.missingValues.keys.max() ?? 0) + 1)
        if storage.pointee.tape.capacity <= index {
            let capacity = index * 2
            guard let words = realloc(storage.pointee.tape.words, capacity * MemoryLayout<UInt64>.size) else {
                throw corrupted("There is not enough memory.", at: 0)
            }
            storage.pointee.tape = realtime_json_tape(
                words: words.assumingMemoryBound(to: UInt64.self),
                capacity: capacity
            )
        }
        words[index] = UInt64(REALTIME_JSON_NULL.rawValue)
        storage.pointee.missingValues[index] = path
        return index
    }
}

/// A key in a path for which the type of the app's keys is not known.
enum PathKey: CodingKey {
    case name(String)
    case index(Int)

    init?(stringValue: String) { self = .name(stringValue) }
    init?(intValue: Int) { nil }

    var stringValue: String {
        switch self {
        case .name(let name): name
        case .index(let index): "Index \(index)"
        }
    }

    var intValue: Int? {
        switch self {
        case .name: nil
        case .index(let index): index
        }
    }
}

/// The key of a dictionary in a path. It has the same strings and integers as the standard library's key.
struct DictionaryKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = Int(stringValue)
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

// MARK: Errors

extension Tape {
    /// Makes the error for a value that is null or has another type.
    @inline(never)
    func mismatch(_ type: Any.Type, at index: Int) -> DecodingError {
        word(index).isNull
            ? missing(type, at: index, "Cannot get value of type \(Self.name(of: type)) -- found null value instead")
            : mismatchOfType(type, at: index)
    }

    @inline(never)
    func mismatchOfType(_ type: Any.Type, at index: Int) -> DecodingError {
        .typeMismatch(
            type,
            DecodingError.Context(
                codingPath: path(to: index),
                debugDescription:
                    "Expected to decode \(Self.name(of: type)) but found \(description(of: index)) instead."
            )
        )
    }

    func missing(_ type: Any.Type, at index: Int, _ description: String) -> DecodingError {
        .valueNotFound(type, DecodingError.Context(codingPath: path(to: index), debugDescription: description))
    }

    @inline(never)
    func corrupted(_ description: String, at index: Int) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: path(to: index), debugDescription: description))
    }

    func unfit(_ type: Any.Type, at index: Int) -> DecodingError {
        corrupted("The number is malformed, or does not fit into \(Self.name(of: type)).", at: index)
    }

    /// The name of a type. The names of the usual types are constants, because making a name takes a microsecond.
    private static func name(of type: Any.Type) -> String {
        if type == String.self { return "String" }
        if type == Int.self { return "Int" }
        if type == Double.self { return "Double" }
        if type == Bool.self { return "Bool" }
        if type == [String: Any].self { return "Dictionary<String, Any>" }
        if type == [Any].self { return "Array<Any>" }
        return "\(type)"
    }

    private func description(of index: Int) -> String {
        switch word(index).kind {
        case REALTIME_JSON_NULL: "null"
        case REALTIME_JSON_TRUE, REALTIME_JSON_FALSE: "bool"
        case REALTIME_JSON_INTEGER, REALTIME_JSON_NUMBER: "number"
        case REALTIME_JSON_OBJECT: "a dictionary"
        case REALTIME_JSON_ARRAY: "an array"
        default: "a string"
        }
    }
}
