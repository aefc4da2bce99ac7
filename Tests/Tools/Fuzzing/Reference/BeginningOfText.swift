extension [UInt8] {
    /// Whether the bytes may be the beginning of UTF-8 text. If so, some continuation makes them valid.
    var isBeginningOfText: Bool {
        // After some first bytes of a character, only one of these ranges of second bytes is valid.
        let ends = [0x80, 0x90, 0xA0].flatMap { [[$0], [$0, 0x80], [$0, 0x80, 0x80]] } as [[UInt8]]
        return ([[]] + ends).contains { String(validating: self + $0, as: UTF8.self) != nil }
    }
}
