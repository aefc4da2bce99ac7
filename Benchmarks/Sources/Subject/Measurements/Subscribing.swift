import NIOPosix
import PusherClient
import Workload

/// The time to connect and subscribe, for the first time in a process or after each of several losses.
struct Subscribing {
    let arguments: Arguments
    let workload: Workload
    /// How often the connection is lost.
    let losses: Int

    init(_ arguments: Arguments, losses: Int) {
        self.arguments = arguments
        self.losses = losses
        var workload = Workload()
        workload.channels = arguments.number("channels", default: 1_000)
        workload.isDropped = losses > 0
        self.workload = workload
    }

    func run() async throws -> [String: Double] {
        let start = ProcessUsage.now
        let countdown = Countdown(workload.channels, rounds: losses + 1)
        let marks =
            arguments.implementation == "client" ? await client(countdown) : try await reference(countdown)
        let first = marks[0] - start
        guard losses > 0 else { return ["cpu": first.cpu, "wall": first.wall] }
        let cycles = zip(marks.dropFirst(), marks).map { $0 - $1 }
        return ["cpu": cycles.map(\.cpu).percentile(0.5), "wall": cycles.map(\.wall).percentile(0.5)]
    }

    private func client(_ countdown: Countdown) async -> [ProcessUsage] {
        let pusher = ClientUnderTest.make(arguments.target, workload)
        let observation = pusher.observe(named: "pusher:subscription_succeeded") { _ in countdown.hit() }
        for index in 0..<workload.channels { pusher.subscribe(workload.channelName(index)) }
        pusher.connect()
        let marks = await countdown.finished()
        observation.cancel()
        pusher.disconnect()
        return marks
    }

    private func reference(_ countdown: Countdown) async throws -> [ProcessUsage] {
        let connection = Reconnecting(
            target: arguments.target,
            workload: workload,
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            countdown: countdown
        )
        connection.open()
        return await countdown.finished()
    }
}
