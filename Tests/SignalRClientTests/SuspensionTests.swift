import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import SignalRCore
import TestTraits
import Testing

@testable import SignalRClient

/// Tests in virtual time. During a suspension, the clock continues, and the timers of the event loop stop.
@Suite(.limited) struct SuspensionTests {
    private let loop = NIOAsyncTestingEventLoop()
    private let suspended = NIOLockedValueBox(Duration.zero)

    private func connection(_ policy: (any RetryPolicy)? = nil) -> HubConnection {
        var machine = HubStateMachine.Configuration(.json)
        machine.reconnects = policy != nil
        let options = HubEngine.Options(
            machine: machine,
            coder: HubCoder(),
            retryPolicy: policy,
            wantsResumption: false,
            invocationTimeout: nil,
            receiveBufferSize: 1 << 20,
            logger: HubLogger(),
            logsContent: false
        )
        return HubConnection(
            HubEngine(options, opener: BareOpener(), on: loop) { [loop, suspended] in
                .nanoseconds(Int64(loop.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 }
            }
        )
    }

    private func start(_ connection: HubConnection) async throws {
        async let started: Void = connection.start()
        try await run(connection) { if case .connected = $0 { true } else { false } }
        try await started
    }

    /// Runs the event loop until the status meets the condition. No time passes.
    private func run(_ connection: HubConnection, until isMet: (HubConnectionStatus) -> Bool) async throws {
        while !isMet(connection.status) {
            try Task.checkCancellation()
            await loop.run()
            await Task.yield()
        }
    }

    private func suspend(for duration: Duration) { suspended.withLockedValue { $0 += duration } }

    @Test func aCallAfterASuspensionFailsAtOnce() async throws {
        let connection = connection()
        try await start(connection)
        suspend(for: .seconds(3_600))
        let call = Task { try await connection.send(method: "nothing") }
        try await run(connection) { if case .stopped = $0 { true } else { false } }
        await #expect(throws: SignalRError.self) { try await call.value }
        guard case .stopped(let error) = connection.status else { return }
        #expect(error as? SignalRError == .serverTimeout(30))
    }

    @Test func theClientNoticesASuspensionWithoutACall() async throws {
        let connection = connection()
        try await start(connection)
        suspend(for: .seconds(3_600))
        await loop.advanceTime(by: .seconds(5))
        try await run(connection) { if case .stopped = $0 { true } else { false } }
    }

    @Test func aWaitThatEndedDuringASuspensionEndsWithinSeconds() async throws {
        let connection = connection(.delays([.seconds(3_600)]))
        try await start(connection)
        await loop.advanceTime(by: .seconds(30))
        try await run(connection) { if case .waiting = $0 { true } else { false } }
        await loop.advanceTime(by: .seconds(1_800))
        guard case .waiting = connection.status else { return #expect(Bool(false), "\(connection.status)") }
        suspend(for: .seconds(1_800))
        await loop.advanceTime(by: .seconds(5))
        try await run(connection) { if case .connected = $0 { true } else { false } }
    }
}
