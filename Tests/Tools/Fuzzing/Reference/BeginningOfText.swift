extension [UInt8] {
    /// Whether UTF-8 text may begin so: whether anything makes it whole.
    var isBeginningOfText: Bool {
        // The second byte of a character has to be one of these after some first ones.
        let ends = [0x80, 0x90, 0xA0].flatMap { [[$0], [$0, 0x80], [$0, 0x80, 0x80]] } as [[UInt8]]
        return ([[]] + ends).contains { String(validating: self + $0, as: UTF8.self) != nil }
    }
}
