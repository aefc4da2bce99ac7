extension PusherStatistics {
    /// How long something took, each time that it happened.
    public struct Timing: Hashable, Sendable {
        /// How often it happened.
        public private(set) var count = 0
        /// All times together.
        public private(set) var total = Duration.zero
        /// The longest time; zero where there was none.
        public private(set) var longest = Duration.zero
        /// The time of the last one; nil where there was none.
        public private(set) var last: Duration?
        /// The times that were not taken yet, for those who want each; nil where nobody does.
        private var samples: [Duration]?

        /// Makes a timing of nothing.
        public init() {}

        /// The mean of the times; nil where there was none.
        public var mean: Duration? { count == 0 ? nil : total / count }
    }
}

extension PusherStatistics.Timing {
    /// It happened once more.
    mutating func add(_ time: Duration) {
        count += 1
        total += time
        longest = max(longest, time)
        last = time
        // Somebody takes them after each read; were they ever left, they must not pile up.
        if let samples, samples.count < 10_000 { self.samples?.append(time) }
    }

    /// From now on each time is kept until it is taken. What came before is not to be had.
    mutating func keepSamples() { samples = samples ?? [] }

    /// The times since the last call.
    mutating func takeSamples() -> [Duration] {
        guard let taken = samples, !taken.isEmpty else { return [] }
        samples = []
        return taken
    }

    /// The same for somebody who wants no single times.
    var summary: Self {
        var summary = self
        summary.samples = nil
        return summary
    }
}
