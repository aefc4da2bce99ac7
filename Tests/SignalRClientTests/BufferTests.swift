import NIOCore
import NIOPosix
import RealtimeHTTP
import SignalRCore
import TestTraits
import Testing

@testable import SignalRClient

@Suite(.limited) struct BufferTests {
    @Test func aWaitingItemDoesNotKeepTheReadInMemory() async throws {
        let buffer = StreamBuffer(limit: 1_000)
        let read = [UInt8](repeating: 1, count: 100_000)
        #expect(buffer.append(read[50_000..<50_010]))
        let item = try #require(try await buffer.next())
        // A part of the read would keep its indices.
        #expect(item.startIndex == 0 && item.count == 10)
    }

    /// Makes a queue for jobs of a total size of 100, with a running job of size 10.
    ///
    /// - Returns: The queue, the starts of its jobs, a continuation that ends one job, and a job that waits for its end.
    private func queueWithARunningJob() async throws -> (
        SerialQueue, begun: Inbox<Void>, open: AsyncStream<Void>.Continuation, wait: SerialQueue.Job
    ) {
        let queue = SerialQueue(limit: 100)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let begun = Inbox<Void>()
        let wait: SerialQueue.Job = {
            begun.add(())
            for await _ in gate { break }
        }
        #expect(queue.add(size: 10, wait))
        try await begun.next()
        return (queue, begun, open, wait)
    }

    @Test func aQueueCountsReservedSpaceOnce() async throws {
        let (queue, begun, open, wait) = try await queueWithARunningJob()
        #expect(queue.add(size: 40) { queue.reserve(40) })
        #expect(queue.add(size: 10, wait))
        open.yield()
        try await begun.next()
        // The reservation counts 40, and the running job counts 10.
        #expect(queue.add(size: 50, wait))
        #expect(!queue.add(size: 1) {})
        open.yield()
        try await begun.next()
        #expect(queue.add(size: 10, wait))
        #expect(!queue.add(size: 1) {})
        queue.release(40)
        #expect(queue.add(size: 40) {})
        open.finish()
    }

    @Test func aQueueGivesBackTheSpaceOfEachJobThatHasEnded() async throws {
        let (queue, begun, open, wait) = try await queueWithARunningJob()
        #expect(queue.add(size: 40) {})
        #expect(queue.add(size: 50, wait))
        open.yield()
        try await begun.next()
        // Only the last of the three jobs still runs, so half of the space is free.
        #expect(queue.add(size: 1) {})
        #expect(queue.add(size: 49) {})
        #expect(!queue.add(size: 1) {})
        open.finish()
    }

    @Test func aServerThatCannotBeReachedIsNotATimeout() async throws {
        // The server accepts TCP connections, and never answers.
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let url = "https://127.0.0.1:\(server.localAddress?.port ?? 0)/"
        var options = HttpConnectionOptions()
        options.connectTimeout = .milliseconds(50)
        let client = PooledHttpClient(options)
        let error = await #expect(throws: SignalRClientError.self) {
            _ = try await client.send(request: HttpRequest(method: .GET, url: url))
        }
        #expect(error?.code == .connectionFailed)
        let cause = error?.cause as? HTTPRequestError
        #expect(cause?.kind == .timedOut && cause?.isUnsent == true)
        try await server.close()
    }

    @Test func anInvalidURLShowsNoSecret() async throws {
        let connection = HubConnectionBuilder.patient.withUrl(url: "wss://user:secret@h/hub?token=secret").build()
        await #expect(throws: SignalRError.invalidUrl("wss://h/hub")) { try await connection.start() }
    }
}
