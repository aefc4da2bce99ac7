import NIOCore
import NIOWebSocket
import PusherClient
import Workload

/// The cost of joins and leaves of very many members on one channel.
struct PresenceStorm {
    let arguments: Arguments

    func run() async throws -> [String: Double] {
        var workload = Workload()
        workload.kind = .presence
        workload.events = arguments.number("members", default: 10_000) * 2
        workload.isPresenceStorm = true
        let meter = Meter(total: workload.events, warmUp: workload.events / 20)
        guard arguments.implementation != "raw-counter" else {
            let channel = try await ReferenceConnection.open(arguments.target, workload) { [workload] in
                ReferenceHandler(workload, consume: { meter.event($0.data.readableBytes) })
            }
            let result = await meter.finished()
            try await channel.close()
            return result
        }
        let pusher = ClientUnderTest.make(arguments.target, workload)
        pusher.subscribeToPresenceChannel(
            channelName: workload.channelName(0),
            onMemberAdded: { meter.event($0.userId.utf8.count) },
            onMemberRemoved: { meter.event($0.userId.utf8.count) }
        )
        pusher.connect()
        let result = await meter.finished()
        await pusher.disconnected()
        return result
    }
}
