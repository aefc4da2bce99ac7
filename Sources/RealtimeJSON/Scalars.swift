import CRealtimeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// MARK: Strings

extension Tape {
    /// Returns the text of a string; nil if an escape or the UTF-8 is malformed.
    @inline(__always)
    func string(_ word: Word) -> String? {
        if word.kind == REALTIME_JSON_ASCII { return String(validUTF8: text(word), isASCII: true) }
        return unusualString(word)
    }

    @inline(never)
    private func unusualString(_ word: Word) -> String? {
        let text = text(word)
        guard let start = text.baseAddress else { return "" }
        guard word.kind == REALTIME_JSON_ESCAPED else {
            return realtime_json_is_utf8(start, text.count) ? String(validUTF8: text, isASCII: false) : nil
        }
        return withUnescaped(text, replacing: false) { unescaped in
            guard let unescaped, let start = unescaped.baseAddress else { return unescaped == nil ? nil : "" }
            return realtime_json_is_utf8(start, unescaped.count) ? String(validUTF8: unescaped, isASCII: false) : nil
        }
    }

    /// Calls a closure with the unescaped bytes, or with nil if an escape is malformed.
    ///
    /// - Parameter replaces: Whether half of a surrogate pair becomes U+FFFD. Otherwise, it is malformed.
    @inline(__always)
    private func withUnescaped(
        _ text: UnsafeBufferPointer<UInt8>,
        replacing replaces: Bool,
        _ body: (UnsafeBufferPointer<UInt8>?) -> String?
    ) -> String? {
        // The unescaped text is not longer.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(text.count, 1)) { buffer in
            let count = realtime_json_unescape(text.baseAddress, text.count, replaces, buffer.baseAddress)
            guard count >= 0 else { return body(nil) }
            return body(UnsafeBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Returns the text of a string. Bytes that are not UTF-8, and halves of surrogate pairs, become U+FFFD. Nil if an
    /// escape is malformed, which a strict scan does not accept.
    func repairedString(_ word: Word) -> String? {
        if word.kind == REALTIME_JSON_ASCII { return String(validUTF8: text(word), isASCII: true) }
        guard word.kind == REALTIME_JSON_ESCAPED else { return String(decoding: text(word), as: UTF8.self) }
        return withUnescaped(text(word), replacing: true) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    @inline(__always)
    func string(at index: Int) throws -> String {
        let word = word(index)
        guard word.isString else { throw mismatch(String.self, at: index) }
        guard let string = string(word) else { throw corrupted("The string is malformed.", at: index) }
        return string
    }
}

extension String {
    /// Creates a string from valid UTF-8. On older systems, the initializer checks the bytes again.
    @inlinable
    @inline(__always)
    package init(validUTF8 bytes: UnsafeBufferPointer<UInt8>, isASCII: Bool) {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            self.init(decoding: bytes, as: UTF8.self)
            return
        }
        self.init(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: isASCII))
    }
}

// MARK: Booleans and numbers

extension Tape {
    @inline(__always)
    func bool(at index: Int) throws -> Bool {
        let kind = word(index).kind
        if kind == REALTIME_JSON_TRUE { return true }
        if kind == REALTIME_JSON_FALSE { return false }
        // As in Foundation, a null is a mismatch here, and not a missing value.
        throw mismatchOfType(Bool.self, at: index)
    }

    @inline(__always)
    func integer<T: FixedWidthInteger>(_ type: T.Type, at index: Int) throws -> T {
        let word = word(index)
        var value: Int64 = 0
        if word.kind == REALTIME_JSON_INTEGER, realtime_json_read_integer(bytes + word.offset, word.length, &value),
            let result = T(exactly: value)
        {
            return result
        }
        return try unusualInteger(type, at: index)
    }

    /// Reads integers of many digits, and integers with a point or an exponent, as Foundation does.
    @inline(never)
    private func unusualInteger<T: FixedWidthInteger>(_ type: T.Type, at index: Int) throws -> T {
        let word = word(index)
        guard word.isNumber else { throw mismatch(type, at: index) }
        guard word.kind == REALTIME_JSON_INTEGER || storage.pointee.options.acceptsFractionsForIntegers else {
            throw unfit(type, at: index)
        }
        let start = bytes + word.offset
        guard realtime_json_is_number(start, word.length) else { throw unfit(type, at: index) }
        let text = String(decoding: text(word), as: UTF8.self)
        if word.kind == REALTIME_JSON_INTEGER, let value = T(text) { return value }
        let double = realtime_json_strtod(start)
        guard let value = T(exactly: double) else { throw unfit(type, at: index) }
        if double.magnitude < 0x1p53 { return value }
        guard let exact = T(decimalText: text) else { throw unfit(type, at: index) }
        return exact
    }

    @inline(__always)
    func double(at index: Int) throws -> Double {
        let word = word(index)
        var value = 0.0
        if word.isNumber, realtime_json_read_double(bytes + word.offset, word.length, &value) { return value }
        return try unusualFloat(Double.self, at: index, realtime_json_strtod)
    }

    @inline(__always)
    func float(at index: Int) throws -> Float { try unusualFloat(Float.self, at: index, realtime_json_strtof) }

    @inline(never)
    private func unusualFloat<T: BinaryFloatingPoint>(
        _ type: T.Type,
        at index: Int,
        _ read: (UnsafePointer<UInt8>) -> T
    ) throws -> T {
        let word = word(index)
        guard word.isNumber else { throw mismatch(type, at: index) }
        let start = bytes + word.offset
        guard realtime_json_is_number(start, word.length) else { throw unfit(type, at: index) }
        let value = read(start)
        // Numbers that are too large or too small are errors.
        guard value.isFinite, value != 0 || isZero(text(word)) else { throw unfit(type, at: index) }
        return value
    }

    private func isZero(_ number: UnsafeBufferPointer<UInt8>) -> Bool {
        number.prefix { $0 | 0x20 != UInt8(ascii: "e") }.allSatisfy { !(UInt8(ascii: "1")...UInt8(ascii: "9") ~= $0) }
    }

    func decimal(at index: Int) throws -> Decimal {
        let word = word(index)
        guard word.isNumber else { throw mismatchOfType(Decimal.self, at: index) }
        guard realtime_json_is_number(bytes + word.offset, word.length),
            let decimal = Decimal(string: String(decoding: text(word), as: UTF8.self))
        else { throw unfit(Decimal.self, at: index) }
        return decimal
    }
}

extension FixedWidthInteger {
    /// Reads an integer beyond the exact integers of a double, for example `9007199254740993.0`, as Foundation does.
    fileprivate init?(decimalText text: String) {
        guard let decimal = Decimal(string: text), var value = UInt64("\(decimal.significand.magnitude)") else {
            return nil
        }
        for _ in 0..<Swift.max(0, -decimal.exponent) { value /= 10 }
        for _ in 0..<Swift.max(0, decimal.exponent) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            value = product
        }
        guard let magnitude = Self(exactly: value) else { return nil }
        guard decimal.sign == .minus else {
            self = magnitude
            return
        }
        let (negative, overflow) = (0 as Self).subtractingReportingOverflow(magnitude)
        guard !overflow else { return nil }
        self = negative
    }
}
