import CRealtimeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Dates as text. The usual forms are read here, because Foundation takes microseconds for each.
enum ISO8601 {
    /// Reads `2026-11-28T09:30:00Z`, or with fractions of a second, or with another offset than `Z`. Returns nil for any
    /// other form, which may be valid too.
    ///
    /// - Parameter allowsFractions: Whether there may be fractions of a second, and whether the offset may be missing.
    static func date(_ text: UnsafeBufferPointer<UInt8>, allowsFractions: Bool) -> Date? {
        guard text.count >= 19, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let year = number(text, 0, 4), let month = number(text, 5, 2), let day = number(text, 8, 2),
            let hour = number(text, 11, 2), let minute = number(text, 14, 2), let second = number(text, 17, 2),
            // Foundation's calendar is another one before 1582.
            year >= 1600, 1...12 ~= month, day >= 1, day <= dayCount(month, year), hour < 24, minute < 60, second < 60
        else { return nil }
        var fraction = 0.0
        var index = 19
        if index < text.count, text[index] == UInt8(ascii: ".") {
            index += 1
            while index < text.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= text[index] { index += 1 }
            guard allowsFractions, let value = Self.fraction(text, 20..<index) else { return nil }
            fraction = value
        }
        let offset: Int
        switch text.count - index {
        case 0 where allowsFractions: offset = 0
        case 1 where text[index] == UInt8(ascii: "Z"): offset = 0
        case 6 where text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-"):
            guard text[index + 3] == UInt8(ascii: ":"), let hours = number(text, index + 1, 2),
                let minutes = number(text, index + 4, 2), hours < 15, minutes < 60
            else { return nil }
            offset = (hours * 3600 + minutes * 60) * (text[index] == UInt8(ascii: "-") ? -1 : 1)
        default: return nil
        }
        let seconds = days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
        return Date(timeIntervalSinceReferenceDate: Double(seconds)) + fraction
    }

    private static func number(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ count: Int) -> Int? {
        var value = 0
        for byte in text[start..<start + count] {
            let digit = byte &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }

    /// Reads the digits after a point. Returns nil if there are no digits, or so many that the result may be inexact.
    private static func fraction(_ text: UnsafeBufferPointer<UInt8>, _ digits: Range<Int>) -> Double? {
        guard 1...15 ~= digits.count, let value = number(text, digits.lowerBound, digits.count) else { return nil }
        var power = 1
        for _ in digits { power *= 10 }
        return Double(value) / Double(power)
    }

    private static func dayCount(_ month: Int, _ year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        default: 31
        }
    }

    /// Returns the number of days since the beginning of 2001.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Years that begin in March end with the leap day.
        let year = month > 2 ? year : year - 1
        let month = month > 2 ? month - 3 : month + 9
        return year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 730_792
    }

    static func unusualDate(_ text: String) -> Date? { try? Date(text, strategy: .iso8601) }

    /// Reads a date in the form of .NET, whose seconds have up to seven decimal digits. If the text has no time zone,
    /// the time is in UTC.
    static func unusualDateWithFractions(_ text: String) -> Date? {
        var whole = text
        var fraction = 0.0
        if let dot = text.firstIndex(of: ".") {
            let digits = text[text.index(after: dot)...].prefix { $0.isASCII && $0.isNumber }
            guard let value = Double("0.\(digits)") else { return nil }
            fraction = value
            whole.removeSubrange(dot..<digits.endIndex)
        }
        let hasZone = whole.hasSuffix("Z") || whole.dropFirst(19).contains { "+-".contains($0) }
        guard let date = unusualDate(hasZone ? whole : whole + "Z") else { return nil }
        return date + fraction
    }
}
