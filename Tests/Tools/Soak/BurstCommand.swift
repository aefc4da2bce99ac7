import ArgumentParser
import ClientTestSupport
import Logging
import NIOConcurrencyHelpers
import PusherClient
import SocketTestSupport
import TestSupport

struct BurstCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "burst",
        abstract: "Checks that slow listeners get all events if the server sends faster than they read.",
        discussion: """
            A callback on the main queue and a sequence take 10 µs for each event of 1 kB. The client must stop reading \
            while they are busy. It must drop no event, and the process must grow by less than 64 MB.
            """
    )

    @Option(help: "The number of events.")
    var events = 1_000_000

    @Option(help: "The time limit of one step, in seconds.")
    var patience = 280

    func validate() throws {
        guard events > 0, patience > 0 else { throw ValidationError("The numbers must be above 0.") }
    }

    func run() async throws {
        let hangGuard = HangGuard(patience: .seconds(patience), "the burst")
        let events = events
        let fault = NIOLockedValueBox<String?>("the burst did not end")
        try await withScriptedServer { peer in
            try await Self.send(events, to: peer)
        } _: { port in
            let result = try await Self.receive(events, from: port)
            fault.withLockedValue { $0 = result }
        }
        hangGuard.begin("the end")
        if let fault = fault.withLockedValue({ $0 }) { throw ExitMessage(fault) }
        print("\nall events arrived")
    }

    // MARK: The server

    private static func send(_ count: Int, to peer: ScriptedPeer) async throws {
        let greeting = #"{\"socket_id\":\"1.1\",\"activity_timeout\":120}"#
        try await peer.acceptUpgrade(
            followedBy: serverFrame(1, #"{"event":"pusher:connection_established","data":"\#(greeting)"}"#)
        )
        // This frame is the subscription.
        _ = await peer.readFrame()
        try await peer.write(
            serverFrame(1, #"{"event":"pusher_internal:subscription_succeeded","channel":"news","data":"{}"}"#)
        )
        let filler = String(repeating: "x", count: 1_000)
        for first in stride(from: 0, to: count, by: 64) {
            var frames: [UInt8] = []
            for number in first..<min(first + 64, count) {
                frames += serverFrame(1, #"{"event":"e","channel":"news","data":"\#(number) \#(filler)"}"#)
            }
            try await peer.write(frames)
        }
        await peer.readToClose()
    }

    // MARK: The client

    /// Receives the events, and returns a description of the first problem, or nil.
    private static func receive(_ count: Int, from port: Int) async throws -> String? {
        let pusher = Pusher(
            key: "key",
            options: PusherClientOptions(
                host: .host("127.0.0.1"),
                port: port,
                useTLS: false,
                logger: Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        let channel = pusher.subscribe("news")
        let called = Counted()
        channel.bind(eventName: "e") { event in called.add(event) }
        let sequence = channel.events(named: "e")
        let before = ProcessUsage.now().resident
        let reader = Task {
            let read = Counted()
            for await event in sequence.prefix(count) { read.add(event) }
            return read
        }
        pusher.connect()
        let read = await reader.value
        await called.wait(for: count)
        let growth = ProcessUsage.now().resident - before
        let statistics = pusher.statistics
        pusher.disconnect()
        print("\(count) events: resident memory grew by \(Int(growth / 1_000)) kB")
        for (listener, counted) in [("the callback", called), ("the sequence", read)] {
            if let fault = counted.fault { return "\(listener): \(fault)" }
        }
        guard statistics.events.dropped.isEmpty else { return "dropped: \(statistics.events.dropped)" }
        return growth < 64_000_000 ? nil : "resident memory grew by \(growth) bytes"
    }

    /// A listener that takes 10 µs for each event, and checks that no event is missing.
    private final class Counted: Sendable {
        private struct State {
            var count = 0
            var fault: String?
            var waiting: (count: Int, CheckedContinuation<Void, Never>)?
        }

        private let state = NIOLockedValueBox(State())

        var fault: String? { state.withLockedValue { $0.fault } }

        func add(_ event: PusherEvent) {
            let end = ContinuousClock.now + .microseconds(10)
            while ContinuousClock.now < end {}
            let number = event.data.flatMap { $0.split(separator: " ").first }.flatMap { Int($0) }
            let waiting: CheckedContinuation<Void, Never>? = state.withLockedValue { state in
                if number != state.count, state.fault == nil {
                    state.fault = "expected event \(state.count), received \(number.map { "\($0)" } ?? "no number")"
                }
                state.count += 1
                guard let waiting = state.waiting, waiting.count == state.count else { return nil }
                state.waiting = nil
                return waiting.1
            }
            waiting?.resume()
        }

        func wait(for count: Int) async {
            await withCheckedContinuation { continuation in
                let isDone = state.withLockedValue { state in
                    if state.count < count { state.waiting = (count, continuation) }
                    return state.count >= count
                }
                if isDone { continuation.resume() }
            }
        }
    }
}
