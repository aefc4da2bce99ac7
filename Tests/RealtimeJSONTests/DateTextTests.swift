import Foundation
import TestSupport
import TestTraits
import Testing

@testable import RealtimeJSON

/// Tests of dates as text, against .NET's count of ticks: units of 100 ns since the beginning of the year 1.
@Suite("Dates as text", .limited) struct DateTextTests {
    private static let ticksPerSecond = 10_000_000
    /// The ticks from the year 1 to the year 2001, whose beginning is the zero of `Date`.
    private static let reference = 63_113_904_000 * ticksPerSecond
    private static let allTicks = 0..<315_537_897_600 * ticksPerSecond

    /// The date that is closest to a number of ticks.
    private func date(_ ticks: Int) -> Date {
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: Self.ticksPerSecond)
        let whole = Double(seconds - Self.reference / Self.ticksPerSecond)
        return Date(timeIntervalSinceReferenceDate: whole + Double(rest) / Double(Self.ticksPerSecond))
    }

    /// Reads a text as .NET does. Each day is counted, so the calendar is independent of the tested code.
    private func ticks(_ text: String) throws -> Int {
        let match = try #require(
            try /(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,7}))?Z/.wholeMatch(in: text),
            "\(text)"
        )
        let parts = try [match.1, match.2, match.3, match.4, match.5, match.6].map { try #require(Int($0)) }
        let years = parts[0] - 1
        let leapYears = years / 4 - years / 100 + years / 400
        let isLeap = parts[0] % 4 == 0 && (parts[0] % 100 != 0 || parts[0] % 400 == 0)
        let months = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        #expect((1...12).contains(parts[1]) && (1...months[parts[1] - 1]).contains(parts[2]), "\(text)")
        let days = years * 365 + leapYears + months.prefix(parts[1] - 1).reduce(0, +) + parts[2] - 1
        let seconds = ((days * 24 + parts[3]) * 60 + parts[4]) * 60 + parts[5]
        let fraction = match.7.map { $0 + String(repeating: "0", count: 7 - $0.count) } ?? "0"
        return seconds * Self.ticksPerSecond + (try #require(Int(fraction)))
    }

    private func decode(_ text: String) throws -> Date {
        try JSONDecodingOptions(dates: .iso8601WithFractions).decode(Date.self, from: "\"\(text)\"")
    }

    @Test(
        "writes dates as .NET does",
        arguments: [
            (0, "0001-01-01T00:00:00Z"), (315_537_897_600 * 10_000_000 - 10_000, "9999-12-31T23:59:59.999Z"),
            (639_155_034_007_770_000, "2026-05-27T18:30:00.777Z"), (639_155_034_000_000_001, nil),
            (635_555_555_555_555_555, "2014-12-30T16:59:15.5555555Z"),
            (630_822_816_000_000_000, "2000-01-01T00:00:00Z"),
        ] as [(Int, String?)]
    )
    func examples(ticks: Int, text: String?) throws {
        let written = try #require(ISO8601.text(date(ticks)))
        if let text { #expect(written == text) }
        // A `Date` of today has steps of 119 ns, so it can miss the tick.
        #expect(abs(try self.ticks(written) - ticks) <= 1)
    }

    @Test("whole milliseconds of all years are exact", arguments: 1...20) func milliseconds(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<1_000 {
            let ticks = Int.random(in: 0..<Self.allTicks.upperBound / 10_000, using: &generator) * 10_000
            let text = try #require(ISO8601.text(date(ticks)))
            #expect(try self.ticks(text) == ticks, "\(text)")
            #expect(try decode(text) == date(ticks), "\(text)")
            #expect(text.utf8.count <= 24)
            // Three digits are enough for a whole millisecond.
            let padded = try #require(ISO8601.textWithMilliseconds(date(ticks)))
            #expect(padded.utf8.count == 24)
            #expect(try self.ticks(padded) == ticks)
        }
    }

    @Test("ticks are exact where a Date has them, and otherwise the date is", arguments: 1...20)
    func ticks(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            // Up to 2^28 s around 2001, a `Date` has steps of 30 ns or less.
            let near =
                Self.reference + Int.random(in: -(5 << 29) * 1_000_000...(5 << 29) * 1_000_000, using: &generator)
            let text = try #require(ISO8601.text(date(near)))
            #expect(try self.ticks(text) == near, "\(text)")
            let any = date(Int.random(in: Self.allTicks, using: &generator))
            let other = try #require(ISO8601.text(any))
            #expect(abs(try decode(other).timeIntervalSince(any)) < 1e-7, "\(other)")
            if abs(any.timeIntervalSinceReferenceDate) > 1e9 { #expect(try decode(other) == any, "\(other)") }
        }
    }

    @Test("milliseconds are rounded, also up to the next year")
    func rounding() {
        let end = Date(timeIntervalSinceReferenceDate: -0.0004)
        #expect(ISO8601.textWithMilliseconds(end) == "2001-01-01T00:00:00.000Z")
        #expect(ISO8601.textWithMilliseconds(end - 0.0002) == "2000-12-31T23:59:59.999Z")
    }

    @Test("no text for dates that .NET does not have")
    func unwritable() {
        for seconds in [-63_113_904_000.001, 252_423_993_600.0001, .infinity, -.infinity, .nan, 1e300] {
            #expect(ISO8601.text(Date(timeIntervalSinceReferenceDate: seconds)) == nil)
            #expect(ISO8601.textWithMilliseconds(Date(timeIntervalSinceReferenceDate: seconds)) == nil)
        }
    }

    @Test("reads and writes .NET's last date")
    func lastTick() throws {
        let text = "9999-12-31T23:59:59.9999999Z"
        #expect(ISO8601.text(try #require(ISO8601.unusualDateWithFractions(text))) == text)
    }

    @Test("milliseconds are not rounded up to the year 10,000")
    func end() {
        #expect(ISO8601.textWithMilliseconds(Date(timeIntervalSinceReferenceDate: 252_423_993_599.9996)) == nil)
    }

    @Test("reads years before 1582 in the Gregorian calendar, like .NET, also with many digits")
    func early() throws {
        for text in ["0001-01-01T00:00:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.00000000000000000Z"] {
            #expect(try decode(text).timeIntervalSinceReferenceDate == -63_113_904_000)
            let decoder = JSONDecodingOptions(dates: .iso8601WithFractions).foundationDecoder()
            #expect(try decoder.decode(Date.self, from: Data("\"\(text)\"".utf8)) == decode(text))
        }
    }
}
