import TestSupport

/// Inserts further actions into some scripts. The other actions of a script stay the same.
extension ScriptWriter {
    mutating func insertRareActions(into actions: inout [PlannedAction]) {
        if countdownGenerator.oneIn(4) { insertCountdowns(into: &actions) }
        switch settings.transports {
        case .httpStreaming, .webSocketWithHTTPFallback: insertBursts(into: &actions)
        case .webSocket, .httpPolling: break
        }
    }

    private mutating func insertCountdowns(into actions: inout [PlannedAction]) {
        for _ in 0..<Int.random(in: 2...12, using: &countdownGenerator) {
            let isRelease = countdownGenerator.oneIn(4)
            let interval = [500, 1_000, 7_000].randomElement(using: &countdownGenerator) ?? 1_000
            let limit = [nil, nil, 1, 3].randomElement(using: &countdownGenerator) ?? nil
            let number = Int.random(in: 0..<1_000, using: &countdownGenerator)
            let action = PlannedAction(
                isRelease ? .stopReading(number) : .countDown(milliseconds: interval, atMost: limit),
                isOnLoop: countdownGenerator.oneIn(4),
                settles: !countdownGenerator.oneIn(4)
            )
            actions.insert(action, at: Int.random(in: 1...actions.count, using: &countdownGenerator))
        }
    }

    /// Inserts bursts of events that exceed the length of a stream. With latencies that vary, the beginning of the next
    /// stream can overtake the end of the current stream.
    private mutating func insertBursts(into actions: inout [PlannedAction]) {
        for _ in 0..<Int.random(in: 0...2, using: &httpGenerator) {
            let channel = channels.randomElement(using: &httpGenerator) ?? "news"
            let latency = [10...50, 0...500, 0...3_000].randomElement(using: &httpGenerator) ?? 0...500
            let pause = [10, 30, 100].randomElement(using: &httpGenerator) ?? 10
            var burst: [PlannedAction] = [.init(.latency(milliseconds: latency)), .init(.subscribe(channel))]
            for _ in 0..<30 {
                burst.append(PlannedAction(.publish(channel, event: "first"), settles: false))
                burst.append(PlannedAction(.advance(milliseconds: pause)))
            }
            burst.append(PlannedAction(.latency(milliseconds: 0...0)))
            actions.insert(contentsOf: burst, at: Int.random(in: 1...actions.count, using: &httpGenerator))
        }
    }
}
