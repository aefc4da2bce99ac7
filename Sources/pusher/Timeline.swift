import Foundation

/// Prints the steps of the demo. Each line has the time since the start, and a participant, for example the server, the
/// network or a user.
struct Timeline: Sendable {
    enum Who: String {
        case server, backend, network, ada, bob, demo
    }

    private let start = ContinuousClock.now
    private let print: @Sendable (String) throws -> Void

    /// - Parameter print: A closure that prints a text. Default: to the standard output.
    init(print: @escaping @Sendable (String) throws -> Void = { try StandardOutput.print($0) }) { self.print = print }

    func title(_ text: String) throws { try print("\n\(text)\n") }

    func note(_ who: Who, _ text: String) throws {
        let time = String(format: "%8.3f s", (ContinuousClock.now - start).seconds)
        let name = who.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)
        try print("\(time)  \(name)  \(text)\n")
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
