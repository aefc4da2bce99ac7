import EventStreamTestSupport
import ServerSentEvents

/// A stream gives the events of the standard's algorithm, however it is split, and no event is larger than the limit.
///
/// Input: a byte for the limit, the number of bytes with the lengths of pieces, those bytes, and the stream. In it
/// `{pad}` stands for 1,000 bytes.
enum EventStreamTarget {
    static func run(_ input: [UInt8]) {
        var reader = InputReader(input)
        let limit = Int(reader.byte()) * 16
        let lengths = reader.bytes(Int(reader.byte() % 8))
        let stream = reader.remaining().padded
        let expected = PlainParser.run(stream)
        require(ParserRun([stream]) == expected, "it is not \(expected)")
        require(ParserRun(stream.pieces(lengths)) == expected, "in pieces it is not \(expected)")
        require(ParserRun(stream.map { [$0] }) == expected, "byte by byte it is not \(expected)")

        let bounded = ParserRun([stream], limit: limit)
        require(ParserRun(stream.pieces(lengths), limit: limit) == bounded, "in pieces, bounded, it is not \(bounded)")
        require(ParserRun(stream.map { [$0] }, limit: limit) == bounded, "byte by byte, bounded, it is not \(bounded)")
        require(expected.elements.starts(with: bounded.elements), "what is bounded is something else: \(bounded)")
        for event in bounded.events {
            // A byte that is not UTF-8 becomes three.
            require(event.data.utf8.count <= limit * 3, "an event has more than \(limit) bytes")
        }
    }
}
