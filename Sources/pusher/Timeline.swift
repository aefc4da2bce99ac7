import Foundation

/// Prints what happens, with the time since the start and who it happened to.
struct Timeline: Sendable {
    enum Who: String {
        case server, client, channel, publisher, network
    }

    private let start = ContinuousClock.now

    func note(_ who: Who, _ text: String) {
        let time = String(format: "%8.3f s", (ContinuousClock.now - start).seconds)
        let name = who.rawValue.padding(toLength: 9, withPad: " ", startingAt: 0)
        // In one write, so that lines of several tasks do not mix.
        FileHandle.standardOutput.write(Data("\(time)  \(name)  \(text)\n".utf8))
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
