import CRealtimeJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension JSONDecodingOptions {
    /// Decodes a value from JSON text.
    ///
    /// - Parameter decoder: The app's decoder; nil for our own.
    /// - Throws: A `DecodingError`, or the error that the type throws.
    package func decode<T: Decodable>(
        _ type: T.Type,
        from text: String,
        with decoder: JSONDecoder? = nil
    ) throws -> T {
        var text = text
        return try text.withUTF8 { try decode(type, from: UnsafeRawBufferPointer($0), with: decoder) }
    }

    /// Decodes a value from the bytes of JSON text, as the method for strings does.
    package func decode<T: Decodable>(
        _ type: T.Type,
        from text: ArraySlice<UInt8>,
        with decoder: JSONDecoder? = nil
    ) throws -> T {
        try text.withUnsafeBytes { try decode(type, from: $0, with: decoder) }
    }

    private func decode<T: Decodable>(
        _ type: T.Type,
        from text: UnsafeRawBufferPointer,
        with decoder: JSONDecoder?
    ) throws -> T {
        if decoder != nil || !ContainerBox.isContainer {
            return try (decoder ?? foundationDecoder()).decodeSafely(type, from: text)
        }
        var text = text
        if text.first == 0xEF, text.starts(with: [0xEF, 0xBB, 0xBF]) {
            text = UnsafeRawBufferPointer(rebasing: text.dropFirst(3))
        }
        var document = JSONDocument.take()
        defer { JSONDocument.giveBack(&document) }
        document.tape.use(self)
        do {
            try document.tape.load(text)
        } catch {
            throw error.decodingError
        }
        return try document.tape.value(type, at: 0)
    }
}

extension Tape {
    /// Sets the options for the next text.
    @inline(__always)
    fileprivate func use(_ options: JSONDecodingOptions) {
        // The readers keep names as the previous options require.
        if storage.pointee.options.keys != options.keys { storage.pointee.readers.removeAll() }
        storage.pointee.options = options
    }
}

extension JSONSyntaxError {
    fileprivate var decodingError: DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: "\(self)"))
    }
}

extension JSONSyntaxError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let offset): "The text is not valid JSON at byte \(offset)."
        case .tooDeep(let offset): "The JSON text is nested too deeply at byte \(offset)."
        case .tooLarge: "The JSON text is too large."
        }
    }
}

// MARK: Foundation's decoder

extension JSONDecoder {
    /// Decodes a value, unless the text would end the process.
    ///
    /// Foundation's decoder on Linux traps if an integer is expected, and the text has a number such as `0.` + 128 zeros +
    /// `1e145`: a valid number beyond the exact integers of a double, which `Decimal` cannot read.
    fileprivate func decodeSafely<T: Decodable>(_ type: T.Type, from text: UnsafeRawBufferPointer) throws -> T {
        if let offset = Self.offsetOfTrap(in: text) {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: [],
                    debugDescription: """
                        The number at byte \(offset) has more than \(Self.safeSize) characters, and is too large for \
                        JSONDecoder.
                        """
                )
            )
        }
        return try decode(type, from: Data(text))
    }

    /// Returns whether this decoder may end the process when it decodes the text.
    package static func mayTrap(on text: ArraySlice<UInt8>) -> Bool {
        text.withUnsafeBytes { offsetOfTrap(in: $0) != nil }
    }

    /// The largest size of a number that Foundation's decoder surely reads. Its decimals have 38 digits, and exponents
    /// down to -128, and numbers that are too large for each type of integer do not reach them. So a number that traps
    /// has more than 64 characters.
    private static let safeSize = 64

    /// Returns the offset of a number that Foundation's decoder may trap for; nil if there is none.
    private static func offsetOfTrap(in text: UnsafeRawBufferPointer) -> Int? {
        var document = JSONDocument.take()
        defer { JSONDocument.giveBack(&document) }
        let tape = document.tape
        guard (try? tape.load(text)) != nil else { return offsetOfTrapInUnscanned(text) }
        var index = 0
        let end = tape.index(after: 0)
        while index < end {
            let word = tape.word(index)
            switch word.kind {
            case REALTIME_JSON_NUMBER:
                if word.length > safeSize, isBeyondExactIntegers(tape.bytes + word.offset) { return word.offset }
                index += 1
            case REALTIME_JSON_OBJECT: index += Int(REALTIME_JSON_OBJECT_HEADER)
            case REALTIME_JSON_ARRAY: index += Int(REALTIME_JSON_ARRAY_HEADER)
            default: index += 1
            }
        }
        return nil
    }

    private static func isBeyondExactIntegers(_ number: UnsafePointer<UInt8>) -> Bool {
        realtime_json_strtod(number).magnitude >= 0x1p53
    }

    /// Looks for such a number everywhere in a text that our decoder does not accept. The app's decoder may accept JSON5,
    /// or another encoding.
    private static func offsetOfTrapInUnscanned(_ text: UnsafeRawBufferPointer) -> Int? {
        // In UTF-16 and UTF-32, the bytes of ASCII characters are separated by zeros.
        var characters = text.filter { $0 != 0 }
        characters.append(0)
        return characters.withUnsafeBufferPointer { characters in
            var start = 0
            for (index, byte) in characters.enumerated() where !isPartOfNumber(byte) {
                defer { start = index + 1 }
                guard index - start > safeSize, let number = characters.baseAddress.map({ $0 + start }) else {
                    continue
                }
                if isBeyondExactIntegers(number) { return start }
            }
            return nil
        }
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }
}

extension JSONDecodingOptions {
    /// Makes a decoder of Foundation that does the same as our own.
    package func foundationDecoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        if keys == .convertFromSnakeCase { decoder.keyDecodingStrategy = .convertFromSnakeCase }
        switch dates {
        case .deferredToDate: break
        case .secondsSince1970: decoder.dateDecodingStrategy = .secondsSince1970
        case .millisecondsSince1970: decoder.dateDecodingStrategy = .millisecondsSince1970
        case .iso8601: decoder.dateDecodingStrategy = .iso8601
        case .iso8601WithFractions:
            decoder.dateDecodingStrategy = .custom { decoder in
                let container = try decoder.singleValueContainer()
                guard let date = ISO8601.unusualDateWithFractions(try container.decode(String.self)) else {
                    throw DecodingError.dataCorruptedError(
                        in: container,
                        debugDescription: "Expected date string to be ISO8601-formatted."
                    )
                }
                return date
            }
        }
        return decoder
    }
}
