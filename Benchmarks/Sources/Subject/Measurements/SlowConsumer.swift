import Dispatch
import Foundation
import PusherClient
import Workload

/// The memory of a flood of events without a consumer, to show that it is limited.
struct SlowConsumer {
    let arguments: Arguments

    func run() async throws -> [String: Double] {
        let limit = arguments.number("limit", default: 10_000)
        var workload = Workload()
        workload.size = arguments.number("size", default: 1_000)
        workload.events = limit * 20
        workload.window = limit * 4
        let queue = DispatchQueue(label: "slow")
        var limits = PusherClientOptions.Limits()
        limits.sequenceBuffer = limit
        limits.pendingCallbacks = limit
        let pusher = ClientUnderTest.make(arguments.target, workload, callbackQueue: .queue(queue), limits: limits)
        let channel = pusher.subscribe(workload.channelName(0))
        var sequence: EventSequence<PusherEvent>?
        if arguments.implementation == "async-sequence" {
            sequence = channel.events(named: Workload.eventName)
        } else {
            channel.bind(eventName: Workload.eventName) { use($0.data?.utf8.count ?? 0) }
            queue.suspend()
        }
        let before = try ProcessMemory.read()
        try await pusher.connected()
        await quiet()
        let first = try ProcessMemory.read()
        for index in 0..<8 { pusher.subscribe(Workload.goAheadName(index)) }
        await quiet()
        let last = try ProcessMemory.read()
        let dropped = sequence?.droppedCount ?? 0
        await pusher.disconnected()
        if sequence == nil { queue.resume() }
        return [
            "first": first.resident - before.resident, "last": last.resident - before.resident,
            "perEvent": (last.resident - before.resident) / Double(limit), "dropped": Double(dropped),
        ]
    }

    /// Waits until the process has no more work.
    private func quiet() async {
        var used = ProcessUsage.now.cpu
        var calm = 0
        while calm < 3 {
            try? await Task.sleep(for: .milliseconds(100))
            let now = ProcessUsage.now.cpu
            calm = now - used < 3_000 ? calm + 1 : 0
            used = now
        }
    }
}
