import Foundation
import NIOCore
import PusherClient
import Workload

/// Counts how often connections without events wake up the process.
struct Idle {
    let arguments: Arguments

    func run() async throws -> [String: Double] {
        var workload = Workload()
        workload.channels = 1
        let count = arguments.number("connections", default: 10)
        var clients: [Pusher] = []
        var channels: [any Channel] = []
        for _ in 0..<count {
            if arguments.implementation == "client" {
                let pusher = ClientUnderTest.make(arguments.target, workload)
                pusher.connect()
                try await pusher.subscribe(workload.channelName(0)).subscribed()
                clients.append(pusher)
            } else {
                let countdown = Countdown(1)
                channels.append(
                    try await ReferenceConnection.open(arguments.target, workload) { [workload] in
                        ReferenceHandler(workload, didSubscribe: { _ in countdown.hit() })
                    }
                )
                _ = await countdown.finished()
            }
        }
        let wakeUps = await watch(seconds: arguments.number("seconds", default: 60))
        return wakeUps.merging(["connections": Double(clients.count + channels.count)]) { first, _ in first }
    }

    /// Sleeps on a thread without tasks. The system would wake a thread with tasks, and Dispatch checks its blocked
    /// threads once a second.
    private func watch(seconds: Int) async -> [String: Double] {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: Self.watchBlocking(seconds: seconds)) }.start()
        }
    }

    private static func watchBlocking(seconds: Int) -> [String: Double] {
        // The threads of Dispatch end after 5 s without work.
        sleep(8)
        let (from, first) = (Date().timeIntervalSince1970, ProcessMemory.wakeUps())
        sleep(UInt32(seconds))
        // The difference includes one wake-up of this thread.
        let count = ProcessMemory.wakeUps() - first - 1
        return [
            "from": from, "to": Date().timeIntervalSince1970, "switches": Double(count), "seconds": Double(seconds),
        ]
    }
}
