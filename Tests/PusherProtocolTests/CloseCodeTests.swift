import PusherProtocol
import TestTraits
import Testing

@Suite("Close codes", .limited)
struct CloseCodeTests {
    /// The ranges of protocol clause 6.1. For 4300 and above, the client reacts like pusher-js.
    static let ranges: [(codes: ClosedRange<Int>, reaction: CloseCode.Reaction)] = [
        (0...3999, .backOff),
        (4000...4000, .switchToTLS),
        (4001...4099, .refused),
        (4100...4199, .backOffAtLeastOneSecond),
        (4200...4299, .reconnectImmediately),
        (4300...5000, .refused),
    ]

    @Test("Every code leads to the reaction of its range", arguments: ranges)
    func reactions(codes: ClosedRange<Int>, reaction: CloseCode.Reaction) {
        #expect(codes.allSatisfy { CloseCode(rawValue: $0).reaction == reaction })
    }

    @Test("The table has every code once")
    func complete() {
        #expect(Self.ranges.flatMap(\.codes) == Array(0...5000))
    }

    @Test("Codes that cannot occur on the wire have a reaction too", arguments: [Int.min, -1, 65_535, Int.max])
    func impossible(code: Int) {
        #expect(CloseCode(rawValue: code).reaction == (code < 0 ? .backOff : .refused))
    }
}
