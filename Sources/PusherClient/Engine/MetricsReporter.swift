#if Metrics
    import CoreMetrics

    /// A reporter that sends the changes since its last report to swift-metrics. Several clients may share a label, so
    /// the reporter sends current levels as differences, which add up.
    struct MetricsReporter {
        private typealias Count = @Sendable (PusherStatistics) -> Int
        private typealias CountByReason = @Sendable (PusherStatistics) -> [String: Int]

        private static let counts: [(label: String, count: Count)] = [
            ("pusher.connection.attempts", { $0.connections.attempts }),
            ("pusher.connection.attempts.abandoned", { $0.connections.abandonedAttempts }),
            ("pusher.connection.established", { $0.connections.established }),
            ("pusher.connection.closed", { $0.connections.closed }),
            ("pusher.connection.refused", { $0.connections.refused }),
            ("pusher.connection.given_up", { $0.connections.givenUp }),
            ("pusher.ping.sent", { $0.pings.sent }),
            ("pusher.ping.answered", { $0.pings.answered }),
            ("pusher.ping.received", { $0.pings.received }),
            ("pusher.messages.received", { $0.messages.received }),
            ("pusher.messages.sent", { $0.messages.sent }),
            ("pusher.messages.unsent", { $0.messages.unsent }),
            ("pusher.messages.malformed", { $0.messages.malformed }),
            ("pusher.messages.ignored", { $0.messages.ignored }),
            ("pusher.bytes.received", { $0.messages.bytesReceived }),
            ("pusher.bytes.sent", { $0.messages.bytesSent }),
            ("pusher.events.received", { $0.events.received }),
            ("pusher.events.delivered", { $0.events.delivered }),
            ("pusher.events.unhandled", { $0.events.unhandled }),
            ("pusher.events.undecryptable", { $0.events.undecryptable }),
            ("pusher.subscriptions.succeeded", { $0.subscriptions.succeeded }),
            ("pusher.subscriptions.resubscribed", { $0.subscriptions.resubscribed }),
            ("pusher.subscriptions.repeated", { $0.subscriptions.repeated }),
            ("pusher.subscriptions.failed", { $0.subscriptions.failed }),
            ("pusher.subscriptions.retried", { $0.subscriptions.retried }),
            ("pusher.authorizations.begun", { $0.authorizations.begun }),
            ("pusher.authorizations.tries", { $0.authorizations.tries }),
            ("pusher.authorizations.succeeded", { $0.authorizations.succeeded }),
            ("pusher.authorizations.failed", { $0.authorizations.failed }),
            ("pusher.authorizations.cancelled", { $0.authorizations.cancelled }),
            ("pusher.sign_ins.succeeded", { $0.signIns.succeeded }),
            ("pusher.sign_ins.failed", { $0.signIns.failed }),
            ("pusher.sign_ins.retried", { $0.signIns.retried }),
            ("pusher.client_events.accepted", { $0.clientEvents.accepted }),
            ("pusher.client_events.sent", { $0.clientEvents.sent }),
            ("pusher.client_events.dropped", { $0.clientEvents.dropped }),
            ("pusher.client_events.rejected", { $0.clientEvents.rejected }),
            ("pusher.client_events.rejected_by_server", { $0.clientEvents.rejectedByServer }),
        ]

        private static let countsByReason: [(label: String, counts: CountByReason)] = [
            ("pusher.connection.attempts.failed", { $0.connections.failedAttempts.byName }),
            ("pusher.connection.lost", { $0.connections.lost.byName }),
            ("pusher.events.dropped", { $0.events.dropped.byName }),
        ]

        /// Levels: values that rise and fall. Counts only rise.
        private static let levels: [(label: String, level: Count)] = [
            ("pusher.connection.up", { $0.connections.current }),
            ("pusher.events.held", { $0.events.held }),
            ("pusher.subscriptions.current", { $0.subscriptions.current }),
            ("pusher.client_events.waiting", { $0.clientEvents.waiting }),
        ]

        private let factory: any MetricsFactory
        private let dimensions: [(String, String)]
        private let counters: [any CounterHandler]
        private var countersByReason: [[String: any CounterHandler]]
        private let meters: [any MeterHandler]
        private let recovery: any TimerHandler
        private let authorizationLatency: any TimerHandler
        private let pingRoundTrip: any TimerHandler
        private var told = PusherStatistics()

        init(_ factory: any MetricsFactory, dimensions: [(String, String)]) {
            self.factory = factory
            self.dimensions = dimensions
            counters = Self.counts.map { factory.makeCounter(label: $0.label, dimensions: dimensions) }
            countersByReason = Self.countsByReason.map { _ in [:] }
            meters = Self.levels.map { factory.makeMeter(label: $0.label, dimensions: dimensions) }
            recovery = factory.makeTimer(label: "pusher.connection.recovery", dimensions: dimensions)
            authorizationLatency = factory.makeTimer(label: "pusher.authorizations.latency", dimensions: dimensions)
            pingRoundTrip = factory.makeTimer(label: "pusher.ping.round_trip", dimensions: dimensions)
        }

        mutating func tell(_ statistics: PusherStatistics, _ samples: ClientStateMachine.Samples) {
            for (index, (_, count)) in Self.counts.enumerated() {
                let difference = count(statistics) - count(told)
                if difference > 0 { counters[index].increment(by: Int64(difference)) }
            }
            for index in Self.countsByReason.indices { tellByReason(index, statistics) }
            tellLevels(statistics)
            for time in samples.recovery { recovery.recordNanoseconds(time.nanoseconds) }
            for time in samples.authorizationLatency { authorizationLatency.recordNanoseconds(time.nanoseconds) }
            for time in samples.pingRoundTrip { pingRoundTrip.recordNanoseconds(time.nanoseconds) }
            told = statistics
        }

        /// Sets this client's levels to zero, because another reporter takes over.
        func withdraw() { tellLevels(PusherStatistics()) }

        private func tellLevels(_ statistics: PusherStatistics) {
            for (index, (_, level)) in Self.levels.enumerated() {
                let difference = level(statistics) - level(told)
                if difference > 0 { meters[index].increment(by: Double(difference)) }
                if difference < 0 { meters[index].decrement(by: Double(-difference)) }
            }
        }

        private mutating func tellByReason(_ index: Int, _ statistics: PusherStatistics) {
            let (label, counts) = Self.countsByReason[index]
            let toldCounts = counts(told)
            for (reason, count) in counts(statistics) {
                let difference = count - toldCounts[reason, default: 0]
                guard difference > 0 else { continue }
                let counter =
                    countersByReason[index][reason]
                    ?? factory.makeCounter(label: label, dimensions: dimensions + [("reason", reason)])
                countersByReason[index][reason] = counter
                counter.increment(by: Int64(difference))
            }
        }
    }

    extension PusherStatistics.Connections {
        /// The number of current connections: 0 or 1.
        fileprivate var current: Int { established - lost.values.reduce(0, +) - closed }
    }

    extension Dictionary where Key: RawRepresentable<String>, Value == Int {
        fileprivate var byName: [String: Int] {
            Dictionary<String, Int>(uniqueKeysWithValues: map { ($0.key.rawValue, $0.value) })
        }
    }

    extension Duration {
        /// The nanoseconds of a duration, clamped to the range of 64 bits.
        fileprivate var nanoseconds: Int64 {
            let (seconds, attoseconds) = min(max(self, .zero), .seconds(9e9)).components
            return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        }
    }
#endif
