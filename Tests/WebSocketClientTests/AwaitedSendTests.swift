import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import SocketTestSupport
import TestTraits
import Testing

@testable import WebSocketClient

@Suite("Awaited messages", .limited)
struct AwaitedSendTests {
    @Test("an awaited message wakes the thread of the event loop only once", arguments: [false, true])
    func tasks(isReconnecting: Bool) async throws {
        let loop = CountingEventLoop()
        let channel = NIOAsyncTestingChannel(loop: loop.base)
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).get()
        let running = Task {
            while !Task.isCancelled {
                await loop.base.run()
                await Task.yield()
            }
        }
        defer { running.cancel() }
        let request = WebSocketRequest(host: "127.0.0.1", port: 80, useTLS: false, path: "/")
        let answering = Task {
            var bytes: ByteBuffer?
            while bytes == nil {
                bytes = try await channel.readOutbound(as: ByteBuffer.self)
                await Task.yield()
            }
            let upgrade = String(buffer: bytes ?? ByteBuffer())
            try await channel.writeInbound(ByteBuffer(string: acceptance(of: upgrade, extra: "")))
        }
        let send: (String) async throws -> Void
        if isReconnecting {
            let session = ReconnectingSession(.init(), on: loop, request: { request }) { request, _, receive in
                WebSocketConnector().connect(to: request, over: channel, receive: receive)
            }
            try await session.connected(within: nil)
            send = { try await session.send(.text($0)) }
        } else {
            let webSocket = try await WebSocket.connect(to: request.host, options: .init(), on: loop) { receive in
                WebSocketConnector().connect(to: request, over: channel, receive: receive)
            }
            send = { try await webSocket.send($0) }
        }
        try await answering.value
        let count = loop.taskCount
        try await send("Hello")
        #expect(loop.taskCount == count + 1)
        let frame = try await channel.readOutbound(as: ByteBuffer.self)
        #expect(frame?.readableBytes == 11)
        channel.close(promise: nil)
    }
}

/// An event loop that counts the tasks that it gets from other threads.
private final class CountingEventLoop: EventLoop {
    let base = NIOAsyncTestingEventLoop()
    private let count = NIOLockedValueBox(0)

    var taskCount: Int { count.withLockedValue { $0 } }
    var inEventLoop: Bool { base.inEventLoop }
    var now: NIODeadline { base.now }

    func execute(_ task: @escaping @Sendable () -> Void) {
        if !inEventLoop { count.withLockedValue { $0 += 1 } }
        base.execute(task)
    }

    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        base.scheduleTask(deadline: deadline, task)
    }

    func scheduleTask<T>(in time: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        base.scheduleTask(in: time, task)
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        base.shutdownGracefully(queue: queue, callback)
    }
}
