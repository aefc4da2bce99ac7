import Foundation

/// Prints what happens, with the time since the start and who it happened to.
struct Timeline: Sendable {
    enum Who: String {
        case server, backend, network, ada, bob, demo
    }

    private let start = ContinuousClock.now

    func title(_ text: String) { write("\n\(text)\n") }

    func note(_ who: Who, _ text: String) {
        let time = String(format: "%8.3f s", (ContinuousClock.now - start).seconds)
        let name = who.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)
        write("\(time)  \(name)  \(text)\n")
    }

    /// In one write, so that lines of several tasks do not mix.
    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
