/// The dates of HTTP (RFC 9110, section 5.6.7). The parser reads the current form, `Sun, 06 Nov 1994 08:49:37 GMT`, but
/// not the older forms.
///
/// On Linux, Foundation's formatter leaks memory with each date that it reads. Servers choose the dates, so the leak
/// would have no limit.
package enum HTTPDate {
    private static let weekdays = ["Mon,", "Tue,", "Wed,", "Thu,", "Fri,", "Sat,", "Sun,"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns the time, or nil if the text is not an HTTP date. Ignores the day of the week.
    package static func secondsSince1970(_ text: String) -> Int? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, weekdays.contains(String(parts[0])), parts[5] == "GMT",
            let month = months.firstIndex(of: String(parts[2])), let year = number(parts[3], digits: 4, 1970...9999),
            let day = number(parts[1], digits: 2, 1...days(inMonth: month, of: year))
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let hour = number(time[0], digits: 2, 0...23),
            let minute = number(time[1], digits: 2, 0...59), let second = number(time[2], digits: 2, 0...60)
        else { return nil }
        let wholeMonths = (0..<month).reduce(0) { $0 + days(inMonth: $1, of: year) }
        let wholeDays = (year - 1970) * 365 + leapDays(before: year) - leapDays(before: 1970) + wholeMonths + day - 1
        return ((wholeDays * 24 + hour) * 60 + minute) * 60 + second
    }

    private static func number(_ text: Substring, digits: Int, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(text), range.contains(number)
        else { return nil }
        return number
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 1: leapDays(before: year + 1) - leapDays(before: year) + 28
        case 3, 5, 8, 10: 30
        default: 31
        }
    }

    /// Returns the number of leap days from year 1 to the year before `year`.
    private static func leapDays(before year: Int) -> Int { (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 }
}
