import PusherProtocol
import RealtimePrimitives

/// Checks that the validator agrees with the standard library for every split. The validator must reject invalid text
/// in the first piece that no later piece can make valid.
///
/// Input: a byte for the number of lengths, a byte for the length of each piece, and the text.
enum UTF8Target {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let text = reader.remaining()
        let isText = String(validating: text, as: UTF8.self) != nil
        require(text.withExactMemory { $0.isUTF8 } == isText, "the whole text is valid: \(!isText), expected \(isText)")

        var validator = UTF8Validator()
        var taken: [UInt8] = []
        for piece in text.pieces(lengths) {
            taken += piece
            let isPossible = piece.withExactMemory { validator.consume($0) }
            require(
                isPossible == taken.isBeginningOfText,
                "the validator accepts the beginning \(taken): \(isPossible), expected \(!isPossible)"
            )
            if !isPossible { return }
        }
        require(validator.isComplete == isText, "the text in pieces is valid: \(!isText), expected \(isText)")
    }
}

extension [UInt8] {
    /// Calls a closure with a buffer of exactly the size of the bytes. AddressSanitizer then detects a read of the
    /// first byte beyond the end.
    func withExactMemory<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: self)
        return try body(UnsafeRawBufferPointer(memory))
    }
}
