import Foundation
import NIOCore
import NIOWebSocket
import PusherClient
import Workload

/// The cost of an event when events come as fast as possible.
struct Flood {
    let arguments: Arguments
    let workload: Workload

    init(_ arguments: Arguments) {
        self.arguments = arguments
        var workload = Workload()
        workload.kind = arguments.kind
        workload.channels = arguments.number("channels", default: 1)
        workload.events = arguments.number("events", default: 100_000)
        workload.size = arguments.number("size", default: 100)
        // The window is smaller than the client's buffer for slow listeners, and fits into the caches.
        workload.window = min(32_768, max(64, 16 * 1_024 * 1_024 / max(workload.size, 1) & ~1))
        self.workload = workload
    }

    func run() async throws -> [String: Double] {
        switch arguments.implementation {
        case "c-loop": try BareLoop(arguments: arguments, workload: workload).run()
        case "raw-counter":
            // The reference does not read the contents of the frames.
            try await reference { meter in { meter.event($0.data.readableBytes) } }
        case "json-decoder": try await reference { JSONEnvelopeConsumer(meter: $0).consume }
        case "scan-dispatch":
            try await reference { meter in
                let channel = Array(workload.channelName(0).utf8)
                return ScanningConsumer(channel: channel) { meter.event($0.utf8.count) }.consume
            }
        case "event-loop": try await client(on: .eventLoop, bind)
        case "http-streaming": try await client(on: .eventLoop, transports: [.httpStreaming], bind)
        case "main-queue": try await client(on: .main, bind)
        case "async-sequence": try await client(on: .eventLoop, iterate)
        case "typed-sequence": try await client(on: .eventLoop) { iterateDecoded($0, $1, decoder: nil) }
        case "typed-sequence-json-decoder":
            try await client(on: .eventLoop) { iterateDecoded($0, $1, decoder: JSONDecoder()) }
        case let other: throw SubjectError("events cannot be taken via \(other)")
        }
    }

    // MARK: Styles

    private func bind(_ channel: PusherChannel, _ meter: Meter) {
        channel.bind(eventName: Workload.eventName) { event in meter.event(event.data?.utf8.count ?? 0) }
        for _ in 1..<max(arguments.number("handlers", default: 1), 1) {
            channel.bind(eventName: Workload.eventName) { event in use(event.data?.utf8.count ?? 0) }
        }
    }

    private func iterate(_ channel: PusherChannel, _ meter: Meter) {
        let events = channel.events(named: Workload.eventName)
        Task { for await event in events { meter.event(event.data?.utf8.count ?? 0) } }
    }

    private func iterateDecoded(_ channel: PusherChannel, _ meter: Meter, decoder: JSONDecoder?) {
        let events = channel.values(named: Workload.eventName, as: Payload.Orders.self, decoder: decoder)
        Task { for await value in events { meter.event(value.orders.count) } }
    }

    // MARK: Running

    private var warmUp: Int { workload.events / 10 }

    private func client(
        on queue: PusherClientOptions.CallbackQueue,
        transports: PusherTransports = .webSocket,
        _ consume: (PusherChannel, Meter) -> Void
    ) async throws -> [String: Double] {
        let pusher = ClientUnderTest.make(arguments.target, workload, callbackQueue: queue, transports: transports)
        let meter = Meter(total: workload.events, warmUp: warmUp, window: workload.window / 2) { [weak pusher] index in
            pusher?.subscribe(Workload.goAheadName(index))
        }
        for index in 0..<workload.channels { consume(pusher.subscribe(workload.channelName(index)), meter) }
        pusher.connect()
        let result = await meter.finished()
        await pusher.disconnected()
        return result
    }

    private func reference(
        _ makeConsumer: @escaping @Sendable (Meter) -> (WebSocketFrame) -> Void
    ) async throws -> [String: Double] {
        let connection = LateChannel()
        let meter = Meter(total: workload.events, warmUp: warmUp, window: workload.window / 2) { index in
            connection.send(.subscribe(Workload.goAheadName(index)))
        }
        let channel = try await ReferenceConnection.open(arguments.target, workload) { [workload] in
            ReferenceHandler(workload, didSubscribe: { connection.set($0) }, consume: makeConsumer(meter))
        }
        let result = await meter.finished()
        try await channel.close()
        return result
    }
}
