import ClientTestSupport
import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import PusherProtocol
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// Tests of transports that report a close while the client handles a message of the same connection. A transport
/// reports nothing after an abort.
@Suite("Connections that are closed during a read", .limited, .overEachTransport)
struct EndInReadTests {
    let world = VirtualWorld()
    let log = Log<String>()
    /// Whether the transport's later connections report nothing.
    let isSilent = NIOLockedValueBox(false)

    private func subscribed(_ options: PusherClientOptions = .virtual()) async throws -> (Pusher, PusherChannel) {
        let transport = HastyTransport(inner: world.makeTransport(), isSilent: isSilent)
        let pusher = world.makeClient(options, transport: transport)
        pusher.connect()
        let channel = pusher.subscribe("orders")
        await world.runUntil { channel.subscribed }
        return (pusher, channel)
    }

    private func send(_ texts: [String]) async throws {
        try await world.atOnce { [server = world.server] in
            for text in texts { server.sendText(text) }
        }
        await world.run()
    }

    private func event(_ name: String, data: String = "") -> String {
        #"{"event":"\#(name)","channel":"orders","data":"\#(data)"}"#
    }

    @Test("a message stays intact if the transport reports a close while the client handles the message")
    func endDuringMessage() async throws {
        let (pusher, channel) = try await subscribed()
        channel.bind { [weak pusher, log] event in
            log.append(event.eventName)
            pusher?.disconnect()
        }
        // The second message is long enough to need a separate buffer.
        try await send([event("first"), event("second", data: String(repeating: "x", count: 10_000))])
        #expect(log.elements == ["first"])
        #expect(pusher.connection.connectionState == .disconnected)
        // Over HTTP, the client does not parse the rest of a read after a close.
        #expect(pusher.statistics.events.dropped == (world.transport == .webSocket ? [.notConnected: 1] : [:]))
    }

    @Test("the client wakes consumers of the events before an abort, although no event follows")
    func abortDuringRead() async throws {
        let (pusher, channel) = try await subscribed()
        let events = channel.events(named: "first")
        channel.bind(eventName: "second") { [weak pusher, isSilent] _ in
            isSilent.withLockedValue { $0 = true }
            pusher?.reconnectNow()
        }
        let first = Task {
            var iterator = events.makeAsyncIterator()
            return await iterator.next()?.eventName
        }
        await world.runUntil { events.buffer.waitingCount == 1 }
        try await send([event("first"), event("second"), event("third")])
        #expect(await first.value == "first")
    }

    @Test("all callbacks of a read reach their queue if the connection is closed during the read")
    func endAfterBurst() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let pusher = try await world.makeConnectedClient(
            .virtual(limits: .init(pendingCallbacks: 10), callbackQueue: .queue(queue))
        )
        let channel = pusher.subscribe("orders")
        await world.runUntil { channel.subscribed }
        channel.bind(eventName: "e") { [log] in log.append($0.data ?? "") }
        queue.sync {}
        queue.suspend()
        try await world.atOnce { [server = world.server] in
            for number in 1...30 { server.sendEvent("e", data: "\(number)", channel: "orders") }
            server.closeConnections(code: 4200)
        }
        await world.run()
        queue.resume()
        queue.sync {}
        await world.runUntil { log.count >= 30 }
        #expect(log.elements == (1...30).map { "\($0)" })
        #expect(pusher.statistics.events.dropped == [:])
    }
}

/// A transport that reports a close during the call of `close`.
private struct HastyTransport: Transport {
    let inner: any Transport
    let isSilent: NIOLockedValueBox<Bool>

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        if isSilent.withLockedValue({ $0 }) { return SilentConnection() }
        return HastyConnection(inner: inner.open(request, on: eventLoop, receive: receive), receive: receive)
    }

    private struct HastyConnection: TransportConnection {
        let inner: any TransportConnection
        let receive: @Sendable (TransportEvent) -> Void

        func send(_ text: String, promise: EventLoopPromise<Void>?) { inner.send(text, promise: promise) }
        func flush() { inner.flush() }
        func setReading(_ isReading: Bool) { inner.setReading(isReading) }
        func abort() { inner.abort() }

        func close(code: CloseCode, reason: String) {
            inner.abort()
            receive(.closed(TransportClosure(code: nil)))
        }
    }

    private struct SilentConnection: TransportConnection {
        func send(_ text: String, promise: EventLoopPromise<Void>?) {}
        func flush() {}
        func setReading(_ isReading: Bool) {}
        func close(code: CloseCode, reason: String) {}
        func abort() {}
    }
}
