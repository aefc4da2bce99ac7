import PusherProtocol
import RealtimePrimitives

/// The validator agrees with the standard library, however the text is split, and rejects invalid text at once.
///
/// Input: a byte with the number of bytes for the lengths of pieces, those bytes, and the text.
enum UTF8Target {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let text = reader.remaining()
        let isText = String(validating: text, as: UTF8.self) != nil
        require(text.withExactMemory { $0.isUTF8 } == isText, "to the standard library, text or not is \(isText)")

        var validator = UTF8Validator()
        var taken: [UInt8] = []
        for piece in text.pieces(lengths) {
            taken += piece
            let isPossible = piece.withExactMemory { validator.consume($0) }
            require(
                isPossible == taken.isBeginningOfText,
                "\(taken) is taken for a beginning of text: \(isPossible)"
            )
            if !isPossible { return }
        }
        require(validator.isComplete == isText, "to the standard library, text or not is \(isText), in pieces")
    }
}

extension [UInt8] {
    /// In memory of exactly that size, so that AddressSanitizer detects a read of the first byte beyond it.
    func withExactMemory<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: self)
        return try body(UnsafeRawBufferPointer(memory))
    }
}
