import Foundation

/// Prints the steps of the demo. Each line has the time since the start, and a participant, for example the server, the
/// network or a user.
struct Timeline: Sendable {
    enum Who: String {
        case server, backend, network, ada, bob, demo
    }

    private let start = ContinuousClock.now

    func title(_ text: String) throws { try StandardOutput.print("\n\(text)\n") }

    func note(_ who: Who, _ text: String) throws {
        let time = String(format: "%8.3f s", (ContinuousClock.now - start).seconds)
        let name = who.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)
        try StandardOutput.print("\(time)  \(name)  \(text)\n")
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
