import NIOCore
import NIOWebSocket
import PusherClient
import Workload

/// The cost of events that the client sends at full speed, until the server has received all.
struct ClientEvents {
    let arguments: Arguments

    func run() async throws -> [String: Double] {
        var workload = Workload()
        workload.kind = .private
        workload.clientEvents = arguments.number("events", default: 20_000)
        let countdown = Countdown(1)
        let start: ProcessUsage
        if arguments.implementation == "client" {
            var limits = PusherClientOptions.Limits()
            limits.clientEventsPerSecond = nil
            let pusher = ClientUnderTest.make(arguments.target, workload, limits: limits)
            let channel = pusher.subscribe(workload.channelName(0))
            channel.bind(eventName: Workload.completionName) { _ in countdown.hit() }
            pusher.connect()
            try await channel.subscribed()
            start = .now
            for _ in 0..<workload.clientEvents {
                channel.trigger(
                    eventName: "client-moved",
                    data: ["user": "Ada Lovelace", "place": "Analytical Engine"]
                )
            }
            return result(await countdown.finished()[0] - start, workload)
        }
        let subscribed = Countdown(1)
        let channel = try await ReferenceConnection.open(arguments.target, workload) { [workload] in
            ReferenceHandler(
                workload,
                didSubscribe: { _ in subscribed.hit() },
                consume: { _ in countdown.hit() }
            )
        }
        _ = await subscribed.finished()
        start = .now
        let data = #"{"user":"Ada Lovelace","place":"Analytical Engine"}"#
        let text = #"{"event":"client-moved","data":\#(data),"channel":"\#(workload.channelName(0))"}"#
        channel.eventLoop.execute { [workload] in
            for _ in 0..<workload.clientEvents { channel.write(WebSocketFrame.text(text), promise: nil) }
            channel.flush()
        }
        return result(await countdown.finished()[0] - start, workload)
    }

    private func result(_ usage: ProcessUsage, _ workload: Workload) -> [String: Double] {
        let count = Double(workload.clientEvents)
        return usage.values(per: count)
    }
}
