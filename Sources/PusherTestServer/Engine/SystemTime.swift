import Foundation

enum SystemTime {
    static var unixSeconds: Int { unixMilliseconds / 1_000 }
    static var unixMilliseconds: Int { Int(Date().timeIntervalSince1970 * 1_000) }
}
