/// The growth of the process while work is repeated.
struct Leftovers {
    private var samples: [(step: Double, value: ProcessUsage)] = []

    /// Takes a sample after this many rounds.
    mutating func measure(after rounds: Int) { samples.append((Double(rounds), .now())) }

    /// Prints the growth for each round, and throws if the process grew by more than the limits.
    ///
    /// - Parameter heapLimit: The allowed growth of the heap in each round, in bytes.
    func report(_ rounds: String, heapLimit: Double) throws {
        // The process warms up during the first half, so its growth is not checked there.
        let settled = samples.suffix(samples.count / 2)
        func perRound(_ value: (ProcessUsage) -> Double) -> Double {
            Slope(settled.map { ($0.step, value($0.value)) }).perStep
        }
        let (heap, descriptors) = (perRound(\.heap), perRound(\.descriptors))
        print("\(rounds). Growth for each: \(heap.rounded()) bytes of heap, \(descriptors) descriptors")
        guard heap < heapLimit, descriptors < 0.01 else {
            throw ExitMessage("the process grew by more than the limits")
        }
        print("no leak was found")
    }
}
