import Dispatch
public import PusherClient
public import PusherTestServer

extension PusherTestServer {
    /// Calls `body` with a server in memory, options for its clients, and a time that only the test moves.
    ///
    /// ```swift
    /// try await PusherTestServer.withVirtualTime { time, server, options in
    ///     let app = MyApp(Pusher(key: server.key, options: options))
    ///     try await server.waitForSubscription(to: "orders")
    ///     server.goSilent()
    ///     await time.advance(by: .seconds(150))
    ///     #expect(app.banner == .reconnecting)
    /// }
    /// ```
    /// There are no sockets, and no wait takes real time. Clients with these options have the timeouts and retry policies of
    /// production. All commands and records of the server work as usual. When one of its waiting methods returns, the
    /// clients and the app are at rest, as after ``VirtualTime/settle()``. The timeouts of these methods are real time.
    ///
    /// When `body` returns or throws, the connections are closed, and the time stands still. Release the clients by then.
    ///
    /// - Parameters:
    ///   - seed: The seed of the clients' random numbers, such as the jitter of waits before an attempt. With the same seed,
    ///     the same test has the same records and the same order of events, except for the random bytes of encrypted
    ///     events. Default: 0.
    ///   - options: The options of the server. Addresses, ports and certificates have no effect, since the server does not
    ///     listen. It records webhooks, but doesn't send them, and it has no further `apps`.
    ///   - body: A closure that gets the time, the server, and options for a client. ``VirtualTime/makeOptions(userId:)``
    ///     makes options for more clients.
    /// - Throws: `PusherTestServer.ServerError` if the encryption master key is invalid, or the error that `body` throws.
    public static func withVirtualTime<Result>(
        seed: UInt64 = 0,
        options: Options = Options(),
        _ body: (VirtualTime, PusherTestServer, PusherClientOptions) async throws -> Result
    ) async throws -> Result {
        let time = VirtualTime(seed: seed, options: options)
        try await time.server.start()
        do {
            let result = try await call(body, time)
            await time.end()
            return result
        } catch {
            await time.end()
            throw error
        }
    }

    /// Calls the body. If the body is not on an actor, it runs on the queue of the virtual time, where the system supports
    /// that. So its calls without a suspension between them take effect at the same instant, as on the main actor.
    private static func call<Result>(
        _ body: (VirtualTime, PusherTestServer, PusherClientOptions) async throws -> Result,
        _ time: VirtualTime
    ) async throws -> Result {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else {
            return try await body(time, time.server, time.makeOptions())
        }
        return try await withTaskExecutorPreference(QueueExecutor(queue: time.scheduler.loop.queue)) {
            try await body(time, time.server, time.makeOptions())
        }
    }
}

/// An executor that runs tasks on a queue.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class QueueExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(queue: DispatchQueue) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
