import NIOConcurrencyHelpers
import NIOCore
public import PusherClient
import PusherTestServer
import RealtimeNetworking

/// The time of a test server in memory, and of its clients. The test moves it.
///
/// ``PusherTestServer/PusherTestServer/withVirtualTime(seed:options:_:)`` makes one. What is due now happens by itself,
/// so a client connects and subscribes without a call of this object. What needs time happens only during
/// ``advance(by:)``: pings, timeouts, waits before an attempt, retries.
///
/// You can call all methods from any task.
public final class VirtualTime: Sendable {
    let scheduler: VirtualScheduler
    private let network: InMemoryServer
    private let generator: NIOLockedValueBox<SeededGenerator>

    init(seed: UInt64, options: PusherTestServer.Options) {
        let scheduler = VirtualScheduler(logger: PusherClientOptions(endpoint: .pusher(cluster: "mt1")).logger)
        self.scheduler = scheduler
        var options = options
        // Nobody listens there. The client's options need a valid port.
        if options.port == 0 { options.port = 80 }
        options.tls = nil
        options.socketIDPrefix = options.socketIDPrefix ?? 1
        let start = 1_700_000_000
        network = InMemoryServer(
            eventLoop: scheduler.loop,
            options: options,
            unixTime: { [loop = scheduler.loop] in start + Int(loop.now.uptimeNanoseconds / 1_000_000_000) },
            settle: { [weak scheduler] in await scheduler?.advance(by: .zero) }
        )
        generator = NIOLockedValueBox(SeededGenerator(seed: seed))
    }

    var server: PusherTestServer { network.server }

    // MARK: The time

    /// The clock for your app's own waits. A `Task.sleep` of your app takes real time, so let the app sleep with a clock
    /// that it gets from outside.
    public var clock: VirtualClock { VirtualClock(scheduler: scheduler) }

    /// The number of tasks that sleep with ``clock`` now. Before you move the time, wait until your app's own tasks sleep, for
    /// example with `await time.settle(until: { time.sleeperCount == 1 })`.
    public var sleeperCount: Int { scheduler.sleeperCount }

    /// The virtual time. It begins with the real time. Pass it to `ConnectionStatus.remaining(at:)`.
    public var now: ContinuousClock.Instant { scheduler.now }

    /// The virtual time that has passed since the beginning.
    public var elapsed: Duration { scheduler.elapsed }

    /// Moves the time, from one timer to the next, and returns when everything is at rest.
    ///
    /// The call takes no time of its own. Before each step and at the end, it waits for all of this:
    /// - The clients and the server have done what is due.
    /// - Callbacks have returned: on the main queue, on your own queue and on the event loop, for delegates too.
    /// - Each loop over a sequence of a client has asked for its next element, or has ended. This includes loops of
    ///   `PusherObservation`.
    /// - Authorizers, providers of headers and other asynchronous closures in the options have returned.
    /// - Waiting calls of a client, such as `connected()` and `subscribed()`, and waits of ``clock``, have returned to your
    ///   code if they are over.
    /// - Jobs that were on the main queue or the main actor by then have run.
    ///
    /// Work that waits is at rest too, if it waits for a client, for ``clock`` or for this object. So a loop may sleep for a
    /// second of ``clock`` after each element.
    ///
    /// The call can't know about these, and doesn't wait for them:
    /// - Your own tasks outside of the main actor, until they make the iterator of a sequence, and after a waiting call has
    ///   returned to them. Use ``settle(until:)`` for what they do. Swift's `sleep(for:)` leaves the main actor before the
    ///   wait begins, so this is also true for a task on its way to a wait of ``clock``, if no loop, callback or authorizer
    ///   of the client is behind it: see ``sleeperCount``.
    /// - Your own streams and tasks behind a loop or a callback. If they are on the main actor, what they do until they
    ///   suspend counts as a job of the main actor.
    /// - `Task.sleep`, timers and network requests of your own, if no loop, callback or authorizer waits for them.
    ///
    /// If a loop, a callback or an authorizer waits for something that only happens later in the test, the call does not
    /// return. After 10 s of real time, it logs a warning that names the work; no limit of real time ends it. Cancel the
    /// task to end the call early, for example by the time limit of the test.
    ///
    /// Work begins in the same order in every run, one piece after the other. A piece that does not come to rest soon, because
    /// it computes for a long time or waits for another piece, no longer holds up the others; then their order may differ
    /// between runs. The order is not defined for what your own tasks on several threads do at the same time.
    ///
    /// - Parameter duration: How far to move the time. With zero or less, the call only waits until everything is at rest. A
    ///   later call goes on where this call ends. If several tasks call the method at the same time, their durations begin
    ///   at the same instant.
    public func advance(by duration: Duration) async {
        await scheduler.advance(by: TimeAmount(clamping: max(duration, .zero)))
    }

    /// Waits until everything is at rest, without moving the time. ``advance(by:)`` says what that includes.
    public func settle() async { await scheduler.advance(by: .zero) }

    /// Waits for a condition that your own tasks make true, without moving the time.
    ///
    /// The call checks the condition again and again, each time after ``settle()``. There is no time limit: if the
    /// condition stays false, the call returns only after its task was cancelled, for example by the time limit of the
    /// test.
    ///
    /// - Parameter condition: A closure that is called in the caller's task.
    public func settle(until condition: () async -> Bool) async {
        await settle()
        while await !condition(), !Task.isCancelled {
            await Task.yield()
            await settle()
        }
    }

    // MARK: Clients

    /// Makes options for another client in this time. The client has the defaults of a client in production, connects to the
    /// server in memory, and authorizes channels and signs users in at the server's endpoints.
    ///
    /// You can change all options. These have no effect, because there is no network: TLS, the proxy, and the addresses of
    /// endpoints, of which only the path counts.
    ///
    /// - Parameter userId: The id of the client's user, which the server's endpoints use for presence channels and for the
    ///   sign-in. Default: a different user for each connection.
    public func makeOptions(userId: String? = nil) -> PusherClientOptions {
        let (scheduler, network, generator) = (scheduler, network, generator)
        return PusherClientOptions(testing: server.access, userId: userId) { settings in
            ClientEngine.Environment(
                eventLoop: scheduler.loop,
                transport: TransportChooser.transport(
                    for: settings,
                    webSocket: InMemoryTransport(server: network),
                    streamer: InMemoryStreamer(server: network),
                    makeName: { generator.withLockedValue { HTTPSessionName(using: &$0) } }
                ),
                requester: InMemoryRequester(server: network, work: scheduler.work),
                now: { scheduler.now },
                random: { generator.withLockedValue { Double.random(in: 0..<1, using: &$0) } },
                work: scheduler.work
            )
        }
    }

    /// Closes all connections, and stops the time.
    func end() async {
        await server.shutdown()
        network.cutLinks()
        await scheduler.end()
    }
}

/// Hides the server, which knows the secrets, from `dump`.
extension VirtualTime: CustomStringConvertible, CustomReflectable {
    /// The virtual time that has passed, for example `VirtualTime(150.0 seconds)`.
    public var description: String { "VirtualTime(\(elapsed))" }

    /// A mirror with ``elapsed``.
    public var customMirror: Mirror { Mirror(self, children: ["elapsed": elapsed]) }
}

/// Random numbers that depend only on the seed (SplitMix64).
private struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
