import Foundation

/// The colours of the output. Only terminals that support colours get them.
struct TextStyle: Sendable {
    enum Role: String {
        case time = "2"
        case channel = "36"
        case event = "1"
        case key = "34"
        case text = "32"
        case number = "33"
        case literal = "35"
        case failure = "31"
    }

    let isColoured: Bool

    /// - Parameter environment: The environment. `NO_COLOR` and `TERM=dumb` disable colours.
    init(isTerminal: Bool, environment: [String: String] = ProcessInfo.processInfo.environment) {
        let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        isColoured = isTerminal && !isRefused && environment["TERM"] != "dumb"
    }

    func paint(_ text: String, _ role: Role) -> String {
        isColoured ? "\u{1B}[\(role.rawValue)m\(text)\u{1B}[0m" : text
    }
}
