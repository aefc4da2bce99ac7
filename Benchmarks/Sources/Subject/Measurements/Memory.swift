import NIOCore
import PusherClient
import Workload

/// The resident memory of one more object. It is computed as a slope, so that the process's basic memory does not
/// count.
struct Memory {
    let arguments: Arguments
    private var count: Int { arguments.number("count", default: 1_000) }

    func run() async throws -> [String: Double] {
        switch (arguments.implementation, arguments.measurement) {
        case ("client", "memory-connections"): try await clientConnections()
        case ("raw", "memory-connections"): try await rawConnections()
        case ("client", "memory-channels"): try await channels(bound: arguments.number("bound") == 1)
        case ("client", "memory-members"): try await members()
        case (let other, _): throw SubjectError("there is no measurement of memory via \(other)")
        }
    }

    private func clientConnections() async throws -> [String: Double] {
        let workload = idle
        let target = arguments.target
        var kept: [Pusher] = []
        func open(_ count: Int) async throws {
            for _ in 0..<count {
                let pusher = ClientUnderTest.make(target, workload)
                try await pusher.connected()
                kept.append(pusher)
            }
        }
        return try await slope(open)
    }

    private func rawConnections() async throws -> [String: Double] {
        let workload = idle
        let target = arguments.target
        var kept: [any Channel] = []
        func open(_ count: Int) async throws {
            for _ in 0..<count {
                let countdown = Countdown(1)
                kept.append(
                    try await ReferenceConnection.open(target, workload) {
                        ReferenceHandler(workload, didSubscribe: { _ in countdown.hit() })
                    }
                )
                _ = await countdown.finished()
            }
        }
        return try await slope(open)
    }

    /// - Parameter bound: Whether a callback is bound on each channel.
    private func channels(bound: Bool) async throws -> [String: Double] {
        var workload = Workload()
        // One channel is enough, because the measurement needs no events.
        workload.channels = 1
        let pusher = ClientUnderTest.make(arguments.target, workload)
        try await pusher.connected()
        var first = 0
        func subscribe(_ count: Int) async throws {
            let countdown = Countdown(count)
            let observation = pusher.observe(named: "pusher:subscription_succeeded") { _ in countdown.hit() }
            for index in first..<(first + count) {
                let channel = pusher.subscribe(workload.channelName(index))
                if bound { channel.bind(eventName: Workload.eventName) { use($0.data?.utf8.count ?? 0) } }
            }
            _ = await countdown.finished()
            observation.cancel()
            first += count
        }
        // Tables grow by doubling, so the free space in the tables is the same before and after.
        return try await slope(warmUp: count, subscribe)
    }

    private func members() async throws -> [String: Double] {
        var workload = Workload()
        workload.kind = .presence
        workload.members = count
        workload.channels = 2
        let pusher = ClientUnderTest.make(arguments.target, workload)
        try await pusher.connected()
        var next = 0
        func subscribe(_ count: Int) async throws {
            // The memory for the list is already allocated when the second list arrives.
            try await pusher.subscribe(workload.channelName(next)).subscribed()
            next += 1
        }
        return try await slope(subscribe)
    }

    private var idle: Workload {
        var workload = Workload()
        workload.channels = 0
        return workload
    }

    private func slope(warmUp: Int = 100, _ add: (Int) async throws -> Void) async throws -> [String: Double] {
        try await add(warmUp)
        try await Task.sleep(for: .milliseconds(200))
        let before = try ProcessMemory.read()
        try await add(count)
        try await Task.sleep(for: .milliseconds(200))
        let after = try ProcessMemory.read()
        return [
            "resident": (after.resident - before.resident) / Double(count),
            "own": (after.own - before.own) / Double(count),
        ]
    }
}
