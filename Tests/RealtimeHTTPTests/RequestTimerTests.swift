import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import RealtimeHTTP
import SocketTestSupport
import TestTraits
import Testing

@Suite("The timers of HTTP requests", .limited)
struct RequestTimerTests {
    @Test("no timer of a request stays scheduled after its answer, its loss or its cancellation", arguments: 0..<3)
    func timers(end: Int) async throws {
        let loop = CountingEventLoop()
        let channel = NIOAsyncTestingChannel(loop: loop.base)
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).get()
        let requester = PooledHTTPRequester(on: loop) { channel }
        let task = Task { try await requester.response(to: .to("http://example.com/", method: "GET", body: nil)) }
        while try await channel.readOutbound(as: ByteBuffer.self) == nil {
            await loop.base.run()
            await Task.yield()
        }
        // The limit for the whole request.
        #expect(loop.pending == 1)
        switch end {
        case 0:
            try await channel.writeInbound(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
            #expect(try await task.value.status == 200)
        case 1:
            channel.close(promise: nil)
            await loop.base.run()
            await #expect(throws: HTTPRequestError.self) { try await task.value }
        default:
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(loop.pending == 0)
        requester.shutdown()
        await loop.base.run()
    }
}

/// An event loop that counts the tasks that are scheduled for later, and neither done nor cancelled.
private final class CountingEventLoop: EventLoop {
    let base = NIOAsyncTestingEventLoop()
    private let count = NIOLockedValueBox(0)

    var pending: Int { count.withLockedValue { $0 } }
    var inEventLoop: Bool { base.inEventLoop }
    var now: NIODeadline { base.now }

    func execute(_ task: @escaping @Sendable () -> Void) { base.execute(task) }

    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        counted(base.scheduleTask(deadline: deadline, task))
    }

    func scheduleTask<T>(in time: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T> {
        counted(base.scheduleTask(in: time, task))
    }

    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        base.shutdownGracefully(queue: queue, callback)
    }

    private func counted<T>(_ scheduled: Scheduled<T>) -> Scheduled<T> {
        count.withLockedValue { $0 += 1 }
        scheduled.futureResult.whenComplete { _ in self.count.withLockedValue { $0 -= 1 } }
        return scheduled
    }
}
