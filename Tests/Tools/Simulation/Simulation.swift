import NIOConcurrencyHelpers
import PusherClient
import TestSupport

/// One run of a simulated world, with its script and its result.
package struct Simulation: Sendable {
    package let settings: Settings
    package private(set) var actions: [PlannedAction]

    /// Creates the script for a seed.
    package init(seed: UInt64, actionCount: Int = 220) {
        var writer = ScriptWriter(seed: seed)
        settings = writer.settings
        actions = writer.write(count: actionCount)
    }

    /// Creates a simulation from a stored script.
    package init(_ settings: Settings, _ actions: [PlannedAction]) {
        self.settings = settings
        self.actions = actions
    }

    /// The result of a run.
    package struct Outcome: Sendable {
        /// The violations; empty if there are none.
        package var violations: [String] = []
        /// The index of the action after which the first violation was found. Nil if it was found at the end, or if
        /// there is none.
        package var actionIndex: Int?
        package var coverage = FaultCoverage()
        /// A digest of the event names, channels and times of all messages.
        package var digest: UInt64 = 0
        /// The number of messages on the wire.
        package var messageCount = 0
        /// The actions and the messages on the wire, with their times; empty unless requested.
        package var trace: [String] = []
        /// The lines that the client logged, and its errors in every printed form; empty unless requested.
        package var shown: [String] = []
        /// The secrets of the server's encrypted channels.
        package var sharedSecrets: Set<String> = []
    }

    /// Runs the simulation on the current thread.
    ///
    /// - Parameters:
    ///   - hasCoverage: Whether the run counts actions, which takes time.
    ///   - hasTrace: Whether the run records actions and messages.
    ///   - showsAll: Whether the client logs at all levels.
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

    /// Returns a simulation with few actions that still leads to a violation of the same kind. Returns nil if there is
    /// no violation.
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

    /// Simplifies each action if the simulation still fails. A simple action is made off the loop, and its effects
    /// happen before the next action.
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

    /// Returns the violation without the parts that differ between runs.
    private static func kind(of violation: String) -> String {
        String(violation.map { $0.isNumber ? "#" : $0 }.prefix(40))
    }

    /// Swift code that creates the same simulation, for people and for tests.
    package var transcript: String {
        var lines = ["Simulation(", "    \(Self.code(settings)),", "    ["]
        for planned in actions {
            let isOnLoop = planned.isOnLoop ? ", isOnLoop: true" : ""
            let settles = planned.settles ? "" : ", settles: false"
            lines.append("        .init(.\(Self.code(planned.action))\(isOnLoop)\(settles)),")
        }
        return (lines + ["    ]", ")"]).joined(separator: "\n")
    }

    /// Returns the value as Swift code, without the type names before cases.
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
        text = text.replacing("PusherTestServer.PusherTestServer.TransportRequests", with: ".init")
        return text
    }
}
