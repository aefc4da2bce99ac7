import NIOCore
import NIOWebSocket
import PusherClient
import Synchronization
import Workload

/// The time of a single event from the generator's write to the callback.
struct Latency {
    let arguments: Arguments

    func run() async throws -> [String: Double] {
        var workload = Workload()
        workload.events = arguments.number("events", default: 1_000)
        workload.interval = arguments.number("interval", default: 1_000)
        let arrivals = Arrivals(workload.events)
        if arguments.implementation == "client" {
            let pusher = ClientUnderTest.make(arguments.target, workload)
            pusher.subscribe(workload.channelName(0)).bind(eventName: Workload.eventName) { event in
                let now = MonotonicTime.nanoseconds
                arrivals.add(now, (event.data ?? "").utf8.dropFirst(#"{"sent":"#.utf8.count))
            }
            pusher.connect()
            let result = await arrivals.finished()
            await pusher.disconnected()
            return result
        }
        let channel = try await ReferenceConnection.open(arguments.target, workload) { [workload] in
            let reader = StampReader(workload, arrivals)
            return ReferenceHandler(workload, consume: reader.consume)
        }
        let result = await arrivals.finished()
        try await channel.close()
        return result
    }
}

/// Reads the timestamp at a fixed offset in the frame.
private struct StampReader {
    let offset: Int
    let arrivals: Arrivals

    init(_ workload: Workload, _ arrivals: Arrivals) {
        self.arrivals = arrivals
        let empty = Payload.envelope(event: Workload.eventName, channel: workload.channelName(0), data: #"{"sent":"#)
        // The last two bytes are the end of the string and the end of the object.
        offset = empty.utf8.count - 2
    }

    func consume(_ frame: WebSocketFrame) {
        let now = MonotonicTime.nanoseconds
        arrivals.add(now, frame.data.readableBytesView.dropFirst(offset))
    }
}

private final class Arrivals: Sendable {
    private let latencies: Mutex<[Double]>
    private let countdown: Countdown

    init(_ count: Int) {
        countdown = Countdown(count)
        latencies = Mutex([])
        latencies.withLock { $0.reserveCapacity(count) }
    }

    func add(_ now: Int, _ text: some Sequence<UInt8>) {
        let sent = text.prefix(MonotonicTime.digits).reduce(0) { $0 * 10 + Int($1) - 48 }
        latencies.withLock { $0.append(Double(now - sent) / 1_000) }
        countdown.hit()
    }

    func finished() async -> [String: Double] {
        _ = await countdown.finished()
        // The first events run with cold caches, so the result leaves them out.
        let latencies = latencies.withLock { Array($0.dropFirst($0.count / 10)) }
        return ["p50": latencies.percentile(0.5), "p99": latencies.percentile(0.99)]
    }
}
