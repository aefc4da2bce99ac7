import CRealtimeJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Dates as text. The usual forms are read here, because Foundation takes microseconds for each.
package enum ISO8601 {
    /// Reads `2026-11-28T09:30:00Z`, or with fractions of a second, or with another offset than `Z`. Returns nil for any
    /// other form, which may be valid too.
    ///
    /// - Parameter allowsFractions: Whether there may be fractions of a second, and whether the offset may be missing.
    static func date(_ text: UnsafeBufferPointer<UInt8>, allowsFractions: Bool) -> Date? {
        guard text.count >= 19, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let year = number(text, 0, 4), let month = number(text, 5, 2), let day = number(text, 8, 2),
            let hour = number(text, 11, 2), let minute = number(text, 14, 2), let second = number(text, 17, 2),
            // Before 1582, Foundation's calendar is the Julian one. .NET's calendar is the Gregorian one for all years.
            year >= (allowsFractions ? 1 : 1600), 1...12 ~= month, day >= 1, day <= dayCount(month, year), hour < 24,
            minute < 60, second < 60
        else { return nil }
        var fraction = 0.0
        var index = 19
        if index < text.count, text[index] == UInt8(ascii: ".") {
            index += 1
            while index < text.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= text[index] { index += 1 }
            guard allowsFractions, let value = Self.fraction(text, 20..<index) else { return nil }
            fraction = value
        }
        let offset: Int64
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

    // Seconds since the year 1, and 15 digits of a fraction, need 64 bits. `Int` has 32 bits on some watches.
    private static func number(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ count: Int) -> Int64? {
        var value: Int64 = 0
        for byte in text[start..<start + count] {
            let digit = byte &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return value
    }

    /// Reads the digits after a point. Returns nil if there are no digits, or so many that the result may be inexact.
    private static func fraction(_ text: UnsafeBufferPointer<UInt8>, _ digits: Range<Int>) -> Double? {
        guard 1...15 ~= digits.count, let value = number(text, digits.lowerBound, digits.count) else { return nil }
        var power: Int64 = 1
        for _ in digits { power *= 10 }
        return Double(value) / Double(power)
    }

    private static func dayCount(_ month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        default: 31
        }
    }

    /// Returns the number of days since the beginning of 2001.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
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
        if !hasZone { whole += "Z" }
        let usual = Array(whole.utf8).withUnsafeBufferPointer { Self.date($0, allowsFractions: true) }
        guard let date = usual ?? unusualDate(whole) else { return nil }
        return date + fraction
    }

    // MARK: Writing

    /// The first second of the year 1, and the first second after the year 9999, in seconds since the beginning of 2001.
    private static let writable = -63_113_904_000.0..<252_423_993_600.0

    /// Writes a date in UTC, in the form of .NET: `2026-11-28T09:30:00.777Z`. The seconds have as few decimal digits as
    /// the exact date needs, and at most seven, because .NET counts in ticks of 100 ns. The calendar is the Gregorian one
    /// for all years. Returns nil for a date outside the years 1 to 9999.
    package static func text(_ date: Date) -> String? {
        let time = date.timeIntervalSinceReferenceDate
        // So far from 2001, dates are 30 µs apart, so .NET's last tick reads as the next second.
        if time == writable.upperBound { return "9999-12-31T23:59:59.9999999Z" }
        let whole = time.rounded(.down)
        guard writable.contains(whole) else { return nil }
        var power = 1.0
        for digits in 0..<7 {
            let fraction = ((time - whole) * power).rounded()
            if whole + fraction / power == time { return text(whole, fraction: Int64(fraction), digits: digits) }
            power *= 10
        }
        return text(whole, fraction: Int64(((time - whole) * power).rounded()), digits: 7)
    }

    /// Writes a date in UTC with three decimal digits, which are rounded. Returns nil for a date outside the years 1 to
    /// 9999.
    package static func textWithMilliseconds(_ date: Date) -> String? {
        let time = date.timeIntervalSinceReferenceDate
        let whole = time.rounded(.down)
        guard writable.contains(whole) else { return nil }
        return text(whole, fraction: Int64(((time - whole) * 1000).rounded()), digits: 3)
    }

    /// - Parameters:
    ///   - whole: A number of seconds since the beginning of 2001.
    ///   - fraction: The fraction of the second, in units of the last digit. After rounding, it can be a whole second.
    private static func text(_ whole: Double, fraction: Int64, digits: Int) -> String? {
        var power: Int64 = 1
        for _ in 0..<digits { power *= 10 }
        let carry: Int64 = fraction >= power ? 1 : 0
        let seconds = Int64(whole) + carry
        let fraction = fraction - carry * power
        guard writable.contains(Double(seconds)) else { return nil }
        // The days are counted from 0000-03-01, so that each year ends with its leap day.
        let sinceYear0 = seconds + 730_791 * 86_400
        let time = sinceYear0 % 86_400
        let (year, month, day) = civil(sinceYear0 / 86_400)
        var bytes = [UInt8](repeating: UInt8(ascii: "0"), count: 20 + (digits == 0 ? 0 : digits + 1))
        func write(_ value: Int64, at index: Int, count: Int) {
            var value = value
            for offset in (0..<count).reversed() {
                bytes[index + offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
                value /= 10
            }
        }
        write(year, at: 0, count: 4)
        bytes[4] = UInt8(ascii: "-")
        write(month, at: 5, count: 2)
        bytes[7] = UInt8(ascii: "-")
        write(day, at: 8, count: 2)
        bytes[10] = UInt8(ascii: "T")
        write(time / 3_600, at: 11, count: 2)
        bytes[13] = UInt8(ascii: ":")
        write(time / 60 % 60, at: 14, count: 2)
        bytes[16] = UInt8(ascii: ":")
        write(time % 60, at: 17, count: 2)
        if digits > 0 {
            bytes[19] = UInt8(ascii: ".")
            write(fraction, at: 20, count: digits)
        }
        bytes[bytes.count - 1] = UInt8(ascii: "Z")
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the date of a day.
    ///
    /// - Parameter day: The number of days since 0000-03-01.
    private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // 400 years have 146,097 days. The last day of a century, of four years and of a year is the leap day, or is
        // missing.
        let dayOfEra = day % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let year = day / 146_097 * 400 + yearOfEra
        return (month < 10 ? year : year + 1, month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
    }
}
