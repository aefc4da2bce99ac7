import EventStreamTestSupport
import ServerSentEvents

/// Checks that the parser gives the events of the standard's algorithm for every split, and that no event exceeds the
/// limit.
///
/// Input: a byte for the limit, a byte for the number of lengths, a byte for the length of each piece, and the stream.
/// In the stream, `{pad}` stands for 1,000 bytes.
enum EventStreamTarget {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let limit = Int(reader.byte()) * 16
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let stream = reader.remaining().padded
        let expected = PlainParser.run(stream)
        require(ParserRun([stream]) == expected, "the whole stream does not give \(expected)")
        require(ParserRun(stream.pieces(lengths)) == expected, "the pieces do not give \(expected)")
        require(ParserRun(stream.map { [$0] }) == expected, "the single bytes do not give \(expected)")

        let bounded = ParserRun([stream], limit: limit)
        require(
            ParserRun(stream.pieces(lengths), limit: limit) == bounded,
            "with a limit, the pieces do not give \(bounded)"
        )
        require(
            ParserRun(stream.map { [$0] }, limit: limit) == bounded,
            "with a limit, the single bytes do not give \(bounded)"
        )
        require(
            expected.elements.starts(with: bounded.elements),
            "with a limit, the elements are not the first elements of the stream: \(bounded)"
        )
        for event in bounded.events {
            // The parser replaces each byte that is not UTF-8 with three bytes.
            require(event.data.utf8.count <= limit * 3, "an event has more than \(limit) bytes")
        }
    }
}
