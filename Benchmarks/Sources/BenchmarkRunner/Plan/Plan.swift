/// The amount of work.
enum Extent: String, Sendable {
    case full
    /// Fewer rounds with fewer events, for a first look.
    case quick
    /// The minimum work that shows whether each measurement can be made. The figures are meaningless, and are not
    /// shown.
    case check

    func choose<Value>(_ full: Value, quick: Value, check: Value? = nil) -> Value {
        switch self {
        case .full: full
        case .quick: quick
        case .check: check ?? quick
        }
    }
}

/// The measurements, and their durations.
struct Plan: Sendable {
    let extent: Extent
    let hasTLS: Bool
    /// Whether the kernel reports the memory of a process.
    let hasMemory: Bool
    /// The JavaScript clients that can be measured, by the value of ``Run/via``.
    let scripts: Set<String>

    var rounds: Int { extent.choose(5, quick: 2, check: 1) }

    func events(_ count: Int) -> Int {
        extent.choose(count, quick: max(count / 8, 2_000), check: max(count / 200, 500))
    }

    var suites: [Suite] {
        let all: [[Suite]] = [
            typedSuites, eventSuites, fanOutSuites, encryptionSuites, subscriptionSuites, memorySuites, latencySuites,
            eventStreamSuites, hubSuites,
        ]
        return all.flatMap(\.self)
    }

    /// The number of events of each size, for a run of about a second.
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
