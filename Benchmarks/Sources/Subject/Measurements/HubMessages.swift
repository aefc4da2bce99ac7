import Foundation
import NIOCore
import NIOPosix
import SignalRClient
import Synchronization
import WebSocketClient
import Workload

/// The cost of SignalR: calls of a handler at full speed, and calls of a hub that answers at once. The reference
/// receives the frames with the client's WebSocket transport, and only counts them.
struct HubMessages {
    let arguments: Arguments

    private var load: HubLoad {
        HubLoad(
            HubLoad.Kind(rawValue: arguments.number("kind")) ?? .json,
            size: arguments.number("size", default: 100),
            events: arguments.number("events", default: 100_000)
        )
    }

    private func url(_ scheme: String, _ load: HubLoad) -> String {
        "\(scheme)://\(arguments.target.host):\(arguments.target.port)\(load.path)"
    }

    // MARK: Calls of the client

    func received() async throws -> [String: Double] {
        switch arguments.implementation {
        case "handler": try await handler()
        case "typed-handler": try await typedHandler(decoder: nil)
        case "typed-handler-json-decoder": try await typedHandler(decoder: JSONDecoder())
        case "stream": try await stream()
        case "frame-counter": try await frameCounter()
        case let other: throw SubjectError("calls cannot be taken via \(other)")
        }
    }

    private func handler() async throws -> [String: Double] {
        let load = load
        let connection = connection(load)
        let meter = meter(load, connection)
        await connection.on(HubLoad.method) { (text: String) in meter.event(text.utf8.count) }
        try await connection.start()
        let result = await meter.finished()
        await connection.stop()
        return result
    }

    private func typedHandler(decoder: JSONDecoder?) async throws -> [String: Double] {
        let load = load
        let connection = connection(load, decoder: decoder)
        let meter = meter(load, connection)
        await connection.on(HubLoad.method) { (value: Payload.Orders) in meter.event(value.orders.count) }
        try await connection.start()
        let result = await meter.finished()
        await connection.stop()
        return result
    }

    /// Makes the hub send more calls each time the calls of half a window have arrived.
    private func meter(_ load: HubLoad, _ connection: HubConnection) -> Meter {
        Meter(total: load.events, warmUp: load.events / 10, window: load.window / 2) { [weak connection] _ in
            Task { [connection] in try await connection?.send(method: HubLoad.goAheadMethod) }
        }
    }

    private func stream() async throws -> [String: Double] {
        let load = load
        let connection = connection(load)
        let meter = meter(load, connection)
        try await connection.start()
        let items = try await connection.stream(HubLoad.streamMethod, of: String.self)
        let consumer = Task { for try await text in items { meter.event(text.utf8.count) } }
        let result = await meter.finished()
        consumer.cancel()
        await connection.stop()
        return result
    }

    private func frameCounter() async throws -> [String: Double] {
        let load = load
        let frames = FrameConnection()
        let meter = Meter(total: load.events, warmUp: load.events / 10, window: load.window / 2) { _ in
            frames.send(#"{"type":1,"target":"\#(HubLoad.goAheadMethod)","arguments":[]}"#)
        }
        try frames.open(url("ws", load)) { meter.event($0) }
        let result = await meter.finished()
        frames.close()
        return result
    }

    private func connection(_ load: HubLoad, decoder: JSONDecoder? = nil) -> HubConnection {
        var options = HttpConnectionOptions()
        options.skipNegotiation = true
        options.transport = .webSockets
        let builder = HubConnectionBuilder().withUrl(url: url("http", load), options: options)
            .withHubProtocol(hubProtocol: load.kind == .messagePack ? .messagePack : .json)
        guard let decoder else { return builder.build() }
        return builder.withJSONCoders(encoder: { JSONEncoder() }, decoder: { decoder }).build()
    }

    // MARK: Calls of the hub

    func invoked() async throws -> [String: Double] {
        let calls = arguments.number("events", default: 10_000)
        let callers = arguments.number("callers", default: 1)
        switch arguments.implementation {
        case "invoke":
            return try await measured(calls) { try await invoke($0, calls: $1, callers) }
        case "frame-counter":
            let frames = FrameConnection()
            let meter = Meter(total: calls, warmUp: calls / 10)
            let call = #"{"type":1,"target":"Add","arguments":[1],"invocationId":"1"}"#
            try frames.open(url("ws", answering)) {
                for _ in 0..<callers { frames.send(call) }
            } receive: { size in
                meter.event(size)
                frames.send(call)
            }
            let result = await meter.finished()
            frames.close()
            return result
        case let other: throw SubjectError("the hub cannot be called via \(other)")
        }
    }

    /// Uploads strings to the hub, in one call.
    func uploaded() async throws -> [String: Double] {
        let item = String(repeating: "x", count: arguments.number("size", default: 100))
        return try await measured(arguments.number("events", default: 10_000)) { connection, count in
            var remaining = count
            let items = AsyncStream<String> {
                remaining -= 1
                return remaining < 0 ? nil : item
            }
            let result: Int = try await connection.invoke(method: "Sum", arguments: items)
            use(result)
        }
    }

    /// The hub that only answers.
    private var answering: HubLoad {
        HubLoad(HubLoad.Kind(rawValue: arguments.number("kind")) ?? .json, size: 0, events: 0)
    }

    /// Does the work on one connection: first a tenth of it, then all of it, which counts.
    private func measured(
        _ count: Int,
        _ work: (HubConnection, Int) async throws -> Void
    ) async throws -> [String: Double] {
        let connection = connection(answering)
        try await connection.start()
        try await work(connection, count / 10)
        let start = ProcessUsage.now
        try await work(connection, count)
        let usage = ProcessUsage.now - start
        await connection.stop()
        return usage.values(per: Double(count))
    }

    private func invoke(_ connection: HubConnection, calls: Int, _ callers: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<callers {
                group.addTask {
                    for _ in 0..<(calls / callers) { use(try await connection.invoke("Add", 1, returning: Int.self)) }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// The transport of the hub's connection, without the hub.
private final class FrameConnection: Sendable {
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    private let connection = Mutex<WebSocketConnection?>(nil)

    /// - Parameters:
    ///   - shaken: Called on the event loop after the answer to the handshake.
    ///   - receive: Gets the size of each later frame, on the event loop.
    func open(
        _ url: String,
        shaken: @escaping @Sendable () -> Void = {},
        receive: @escaping @Sendable (Int) -> Void
    ) throws {
        let request = try WebSocketRequest(url: url)
        // The answer to the handshake is smaller than all other frames.
        let frame: @Sendable (Int) -> Void = { size in if size > 3 { receive(size) } else { shaken() } }
        let opened = WebSocketConnector().connect(to: request, on: eventLoop) { [self] event in
            switch event {
            case .opened: send(HubLoad.handshake)
            case .text(let bytes): frame(bytes.withUnsafeBufferPointer { $0.count })
            case .binary(let bytes): frame(bytes.readableBytes)
            case .refused, .pong, .activity, .readComplete, .closed: break
            }
        }
        connection.withLock { $0 = opened }
    }

    func send(_ text: String) {
        onLoop { connection in
            connection.send(text, promise: nil)
            connection.flush()
        }
    }

    func close() { onLoop { $0.close(code: .normalClosure, reason: "") } }

    private func onLoop(_ body: @escaping @Sendable (WebSocketConnection) -> Void) {
        guard eventLoop.inEventLoop, let connection = connection.withLock({ $0 }) else {
            return eventLoop.execute { [self] in if let connection = connection.withLock({ $0 }) { body(connection) } }
        }
        body(connection)
    }
}
