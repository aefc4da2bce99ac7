import Foundation
import TestTraits
import Testing

@testable import RealtimeNetworking

@Suite("Dates of HTTP", .limited)
struct HTTPDateTests {
    @Test(
        "reads a valid date",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Fri, 31 Dec 2100 23:59:60 GMT", 4_133_980_800),
        ]
    )
    func dates(text: String, seconds: Int) {
        #expect(HTTPDate.secondsSince1970(text) == seconds)
    }

    @Test("reads dates of two centuries like Foundation's calendar")
    func calendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func digits(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
        for seconds in stride(from: 0, to: 6_311_433_600, by: 86_400 * 7 + 3_661) {
            let date = Date(timeIntervalSince1970: Double(seconds))
            let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
            let (year, month) = (try #require(parts.year), months[try #require(parts.month) - 1])
            let time = [parts.hour, parts.minute, parts.second].map(digits).joined(separator: ":")
            let text = "Mon, \(digits(parts.day)) \(month) \(year) \(time) GMT"
            #expect(HTTPDate.secondsSince1970(text) == seconds, "\(text)")
        }
    }

    @Test(
        "returns nil for an invalid date",
        arguments: [
            "", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 29 Feb 1900 00:00:00 GMT",
            "Thu, 29 Feb 2001 00:00:00 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        ]
    )
    func noDates(text: String) {
        #expect(HTTPDate.secondsSince1970(text) == nil)
    }
}
