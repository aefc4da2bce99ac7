import NIOCore
import PusherClient
import Workload

/// The time from the start of the process to its first event.
struct ColdStart {
    let arguments: Arguments

    func run() async throws -> [String: Double] {
        var workload = Workload()
        workload.events = 1
        let countdown = Countdown(1)
        if arguments.implementation == "client" {
            let pusher = ClientUnderTest.make(arguments.target, workload)
            pusher.subscribe(workload.channelName(0)).bind(eventName: Workload.eventName) { _ in countdown.hit() }
            pusher.connect()
            let end = await countdown.finished()[0]
            await pusher.disconnected()
            return result(end)
        }
        let channel = try await ReferenceConnection.open(arguments.target, workload) { [workload] in
            ReferenceHandler(workload, consume: { _ in countdown.hit() })
        }
        let end = await countdown.finished()[0]
        try await channel.close()
        return result(end)
    }

    /// - Parameter usage: The usage at the first event.
    private func result(_ usage: ProcessUsage) -> [String: Double] {
        ["wall": usage.wall - Double(arguments.number("started")) / 1_000, "cpu": usage.cpu]
    }
}
