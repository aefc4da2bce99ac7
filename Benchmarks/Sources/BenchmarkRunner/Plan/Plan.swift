/// What is measured, and how long.
struct Plan: Sendable {
    /// Fewer rounds of fewer events: to see that all of it works.
    let isQuick: Bool
    let hasTLS: Bool
    /// Whether the kernel tells what memory a process has.
    let hasMemory: Bool

    var rounds: Int { isQuick ? 2 : 5 }

    func events(_ count: Int) -> Int { isQuick ? max(count / 8, 2_000) : count }

    var suites: [Suite] {
        let all: [[Suite]] = [
            eventSuites, fanOutSuites, encryptionSuites, subscriptionSuites, memorySuites, latencySuites,
        ]
        return all.flatMap(\.self)
    }

    /// Per size: how many events make a run of a good part of a second.
    static let sizes = [
        Size(size: 100, name: "100 B", events: 300_000),
        Size(size: 1_000, name: "1 kB", events: 150_000),
        Size(size: 10_000, name: "10 kB", events: 30_000),
    ]

    struct Size: Sendable {
        let size: Int
        let name: String
        let events: Int
    }
}
