import NIOConcurrencyHelpers
import PusherClient
import TestSupport

/// One run of a simulated world: a script and its result.
package struct Simulation: Sendable {
    package let settings: Settings
    package private(set) var actions: [PlannedAction]

    /// The script that a seed makes up.
    package init(seed: UInt64, actionCount: Int = 220) {
        var writer = ScriptWriter(seed: seed)
        settings = writer.settings
        actions = writer.write(count: actionCount)
    }

    /// A script that was written down.
    package init(_ settings: Settings, _ actions: [PlannedAction]) {
        self.settings = settings
        self.actions = actions
    }

    /// The result of a run.
    package struct Outcome: Sendable {
        /// What was found that must not be; empty if all is well.
        package var violations: [String] = []
        /// The number of the action after which it was found; nil for the end.
        package var actionIndex: Int?
        package var coverage = FaultCoverage()
        /// Differs if anything that went over the wire, or its time, did.
        package var digest: UInt64 = 0
        /// How many messages went over the wire.
        package var messageCount = 0
        /// What was done and what went over the wire, with the times; empty if nobody wanted it.
        package var trace: [String] = []
        /// The lines that the client logged, and its errors in every form in which they are printed; empty if nobody
        /// wanted them.
        package var shown: [String] = []
        /// The secrets that the server's encrypted channels had.
        package var sharedSecrets: Set<String> = []
    }

    /// Runs it on the current thread.
    ///
    /// - Parameters:
    ///   - hasCoverage: Whether the faults are counted, which takes its time.
    ///   - hasTrace: Whether what happens is noted.
    ///   - showsAll: Whether the client logs, at all levels.
    package func run(hasCoverage: Bool = false, hasTrace: Bool = false, showsAll: Bool = false) -> Outcome {
        CapturedTasks.capturing { tasks in
            let shown = showsAll ? ShownText() : nil
            let world = SimulatedWorld(settings, tasks: tasks, shown: shown)
            var outcome = Outcome()
            if hasTrace { world.ledger.state.withLockedValue { $0.trace = [] } }
            world.settle()
            for (index, action) in actions.enumerated() {
                if hasCoverage {
                    outcome.coverage.record(
                        action.action,
                        in: world.application.pusher?.connection.status,
                        hasConnection: world.socketID != nil
                    )
                }
                world.ledger.note(Self.code(action.action))
                world.perform(action)
                if action.settles { world.checkInvariants() }
                guard world.violations.isEmpty else {
                    outcome.actionIndex = index
                    break
                }
            }
            if world.violations.isEmpty { world.end() }
            outcome.violations = world.violations.all
            outcome.trace = world.ledger.state.withLockedValue { $0.trace ?? [] }
            (outcome.digest, outcome.messageCount) = world.ledger.state.withLockedValue { ($0.digest, $0.messageCount) }
            outcome.sharedSecrets = world.sharedSecrets
            world.abandon()
            outcome.shown = shown?.lines ?? []
            return outcome
        }
    }

    /// The same with fewer actions: as few as still lead to a violation of the same kind. Nil if there is none.
    package func shrunk() -> Simulation? {
        let outcome = run()
        guard let first = outcome.violations.first else { return nil }
        var smallest = self
        if let index = outcome.actionIndex { smallest.actions = Array(actions.prefix(index + 1)) }
        let kind = Self.kind(of: first)
        func stillFails(_ actions: [PlannedAction]) -> Bool {
            Simulation(settings, actions).run().violations.first.map { Self.kind(of: $0) } == kind
        }
        var size = max(1, smallest.actions.count / 2)
        while true {
            var hasShrunk = false
            var start = 0
            while start < smallest.actions.count {
                var fewer = smallest.actions
                fewer.removeSubrange(start..<min(start + size, fewer.count))
                if stillFails(fewer) {
                    smallest.actions = fewer
                    hasShrunk = true
                } else {
                    start += size
                }
            }
            if size == 1, !hasShrunk { break }
            size = max(1, size / 2)
        }
        return smallest.simplified(stillFails)
    }

    /// Actions that need not be made on the loop, or without a pause, are not.
    private func simplified(_ stillFails: ([PlannedAction]) -> Bool) -> Simulation {
        var simplest = self
        for index in actions.indices {
            for simpler in [
                PlannedAction(actions[index].action),
                PlannedAction(actions[index].action, isOnLoop: actions[index].isOnLoop),
                PlannedAction(actions[index].action, settles: actions[index].settles),
            ] where simpler != simplest.actions[index] && simplest.actions[index] == actions[index] {
                var candidate = simplest.actions
                candidate[index] = simpler
                if stillFails(candidate) { simplest.actions = candidate }
            }
        }
        return simplest
    }

    /// The violation without what differs from run to run.
    private static func kind(of violation: String) -> String {
        String(violation.map { $0.isNumber ? "#" : $0 }.prefix(40))
    }

    /// For people, and for a test: Swift that makes the same simulation.
    package var transcript: String {
        var lines = ["Simulation(", "    \(Self.code(settings)),", "    ["]
        for planned in actions {
            let isOnLoop = planned.isOnLoop ? ", isOnLoop: true" : ""
            let settles = planned.settles ? "" : ", settles: false"
            lines.append("        .init(.\(Self.code(planned.action))\(isOnLoop)\(settles)),")
        }
        return (lines + ["    ]", ")"]).joined(separator: "\n")
    }

    /// Values print as they are written, but for the names of the types that cases belong to.
    private static func code(_ value: some Any) -> String {
        var text = String(describing: value)
        for type in [
            "Settings.Retry", "Settings.Authorization", "Settings.MessageLimit", "Settings.Transports",
            "Action.Reaction", "Action.Awaited", "ConnectOutcome",
        ] {
            text = text.replacing("Simulation.\(type)", with: "")
        }
        for type in [
            "AuthorizationFault", "SubscriptionFault", "ConnectionFault", "TransportRequestFault", "LostSession",
            "HTTPTransports.SecondPoll",
        ] {
            text = text.replacing("PusherTestServer.PusherTestServer.\(type)", with: "")
        }
        text = text.replacing("PusherTestServer.PusherTestRelay.UpgradeFault", with: "")
        for type in ["Request.Header", "TransportRequests"] {
            text = text.replacing("PusherTestServer.PusherTestServer.\(type)", with: ".init")
        }
        return text
    }
}
