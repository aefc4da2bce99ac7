import Foundation
import PusherTestServer
import Simulation
import Testing

/// A few seeds, and the machinery itself. Many seeds are for `make simulate`.
@Suite("Simulation")
struct SimulationTests {
    @Test("Whatever happens, the client keeps its promises", arguments: UInt64(1)...12)
    func seeds(seed: UInt64) async {
        let simulation = Simulation(seed: seed)
        let outcome = await run(simulation)
        #expect(outcome.violations == [], "\(simulation.transcript)")
    }

    @Test("A seed brings the same run again, to the nanosecond")
    func sameRun() async {
        let first = await run(Simulation(seed: 77))
        let second = await run(Simulation(seed: 77))
        #expect(first.messageCount > 50)
        #expect(first.digest == second.digest)
        #expect(await run(Simulation(seed: 78)).digest != first.digest)
    }

    @Test("A script that was written down is run as it stands")
    func script() async {
        let simulation = Simulation(
            Settings(seed: 1),
            [
                .init(.connect),
                .init(.subscribe("private-room")),
                .init(.bind("private-room", event: nil)),
                .init(.publish("private-room", event: "first")),
                .init(.close(code: 4200), isOnLoop: true, settles: false),
                .init(.advance(milliseconds: 5_000)),
            ]
        )
        #expect(await run(simulation).violations == [])
        #expect(simulation.transcript.contains(#".init(.publish("private-room", event: "first")),"#))
        #expect(simulation.transcript.contains(".init(.close(code: Optional(4200)), isOnLoop: true, settles: false),"))
    }

    /// On a thread of its own, for which all tasks are captured.
    private func run(_ simulation: Simulation) async -> Simulation.Outcome {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: simulation.run()) }
            thread.stackSize = 8 << 20
            thread.start()
        }
    }
}
