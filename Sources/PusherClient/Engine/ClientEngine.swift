import Atomics
import Dispatch
import Logging
import NIOConcurrencyHelpers
package import NIOCore
import PusherProtocol
package import RealtimeHTTP
package import RealtimeNetworking
import RealtimePrimitives

/// The shell around the machine. It makes transitions under one lock, and carries out their effects on one event loop,
/// in the order of the transitions.
package final class ClientEngine: Sendable {
    struct State {
        var machine: ClientStateMachine
        /// The server that the machine connects to, as specified by the app.
        var endpoint: Endpoint
        /// The effects of earlier transitions that the engine has not carried out yet.
        var pending: [Effect] = []
        /// Whether the engine carries out effects now, or has scheduled this work. If so, other transitions only add
        /// effects.
        var isDraining = false
        var channels: [ChannelID: PusherChannel] = [:]
        var waiters: [WaiterID: Waiter] = [:]
        var delegate = WeakDelegate(value: nil)
        var connection = WeakConnection(value: nil)
        var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
        /// Counts of the shell.
        var counts = DeliveryCounts()

        /// Removes a call that waits.
        mutating func takeWaiter(_ id: WaiterID) -> Waiter? {
            let waiter = waiters.removeValue(forKey: id)
            // An empty table would keep its memory.
            if waiters.isEmpty { waiters = [:] }
            return waiter
        }
    }

    /// A call that waits.
    struct Waiter: Sendable {
        let continuation: CheckedContinuation<WaiterOutcome, Never>
        /// The wait of the call's task in virtual time.
        let wait: AppWork.Wait?

        func resume(returning outcome: WaiterOutcome) {
            guard let wait else { return continuation.resume(returning: outcome) }
            wait.end { continuation.resume(returning: outcome) }
        }
    }

    /// The state that only the event loop uses.
    struct LoopState {
        var connections: [AttemptID: any TransportConnection] = [:]
        var timers = TimerTable<TimerID>()
        /// The connections with messages that the engine has written since the last flush.
        var unflushed: Set<AttemptID> = []
        let routes = RouteTable()
        /// The receiver that delivers events directly, if any.
        var directReceiver: MessageReceiver?
        var awaited = AwaitedListeners()
        var holdings = HoldingChannels()
        /// The sequences for which the engine has collected events.
        var sequences: [SequenceListener] = []
        var authorizations = AuthorizationTasks()
        /// The readers of channels whose events the app transforms.
        var payloadReaders: [String: any PayloadReader] = [:]
        /// The random number for the authorization policy in this turn of the loop.
        var sharedRandom: Double?
        /// Whether the log has reported the current outage.
        var hasLoggedOutage = false
        var warnings = WarningLimiter()
        /// The names of events without a listener that the debug log has named.
        var unheardNames = UnheardNames()
        /// The keep-alive interval that was logged last.
        var keepAliveInterval: Duration?
        var transport: TransportReport?
        var countdowns = Countdowns()
        var counts = DeliveryCounts()
        #if Metrics
            /// The reporter. The engine removes the reporter during a report, because the factory's code may call the
            /// client again.
            var metrics: MetricsReporter?
            /// Whether there are changes to report after the current report.
            var hasMoreMetrics = false
        #endif
    }

    struct WeakDelegate: Sendable {
        weak let value: (any PusherDelegate)?
    }

    struct WeakConnection: Sendable {
        weak let value: PusherConnection?
    }

    /// The parts that tests replace: the event loop, the transport, the requester, the clock and the random numbers.
    package struct Environment: Sendable {
        package var eventLoop: any EventLoop
        package var transport: any Transport
        package var requester: any HTTPRequester
        /// The proxy rules that the transport and the requester use.
        package var proxies: ProxyRules
        package var now: @Sendable () -> ContinuousClock.Instant
        /// Draws a number in `0..<1`, for jitter.
        package var random: @Sendable () -> Double
        /// The app's work in virtual time; nil in real time.
        package var work: AppWork?

        package init(
            eventLoop: any EventLoop,
            transport: any Transport,
            requester: any HTTPRequester,
            proxies: ProxyRules = .direct,
            now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
            random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
            work: AppWork? = nil
        ) {
            self.eventLoop = eventLoop
            self.transport = transport
            self.requester = requester
            self.proxies = proxies
            self.now = now
            self.random = random
            self.work = work
        }
    }

    package let eventLoop: any EventLoop
    let transport: any Transport
    let requester: any HTTPRequester
    let proxies: ProxyRules
    let options: PusherClientOptions
    package let clock: @Sendable () -> ContinuousClock.Instant
    /// The origin of the machine's time.
    private let origin: ContinuousClock.Instant
    let random: @Sendable () -> Double
    let work: AppWork?
    var limits: PusherClientOptions.Limits { options.limits }
    let logger: Logger
    let tracesMessages: Bool
    let transformsPayloads: Bool
    let decoding: JSONDecodingOptions
    let buffers: TotalBudget
    let listenerContext: ListenerContext
    /// Whether there are effects to carry out. The engine reads this value without the lock.
    let hasPendingEffects = ManagedAtomic(false)
    let clientListeners: ListenerRegistry
    let userListeners: ListenerRegistry
    let watchlistEvents: Broadcast<WatchlistEvent>
    let watchlistCallbacks: WatchlistCallbacks
    let statuses: Broadcast<ConnectionStatus>
    let errors: Broadcast<PusherClientError>

    let state: NIOLockedValueBox<State>
    let loopState: NIOLoopBoundBox<LoopState>

    init(endpoint: Endpoint, options: PusherClientOptions, environment: Environment) {
        let callbackIDs = CallbackIDs()
        watchlistCallbacks = WatchlistCallbacks(callbackIDs)
        let changes = ChangeCount()
        let epochs = CallbackEpochs()
        let buffers = TotalBudget(size: options.limits.totalBufferSize)
        self.buffers = buffers
        func makeBudget(_ count: Int) -> BufferBudget {
            BufferBudget(count: count, size: options.limits.listenerBufferSize, of: buffers)
        }
        let budget = makeBudget(options.limits.sequenceBuffer)
        errors = Broadcast { EventBuffer(budget, of: environment.work) { 256 + $0.message.utf8.count } }
        logger = options.logger
        eventLoop = environment.eventLoop
        transport = environment.transport
        requester = environment.requester
        proxies = environment.proxies
        self.options = options
        clock = environment.now
        origin = environment.now()
        random = environment.random
        let work = environment.work
        self.work = work
        tracesMessages = options.logger.logLevel <= .trace
        transformsPayloads = options.payloadTransformer != nil
        decoding = options.decoding
        watchlistEvents = Broadcast { EventBuffer(budget, of: work) { 256 + $0.size } }
        statuses = Broadcast(initial: .initialized) { EventBuffer(budget, of: work) }
        let dispatcher = CallbackDispatcher(
            queue: options.callbackQueue,
            makeBudget(options.limits.pendingCallbacks),
            eventLoop: environment.eventLoop,
            logger: options.logger,
            changes: changes,
            epochs: epochs,
            work: work
        )
        let context = ListenerContext(
            changes,
            epochs,
            callbackIDs,
            maximumCallbacks: options.limits.bindings,
            sequenceBudget: budget,
            eventLoop: environment.eventLoop,
            dispatcher: dispatcher,
            work: work
        )
        // If the callback queue is the main queue, there is only one dispatcher.
        if case .main = options.callbackQueue { _ = context.mainDispatcher(orMake: { dispatcher }) }
        listenerContext = context
        clientListeners = ListenerRegistry(context)
        userListeners = ListenerRegistry(context, isOfUser: true)
        let configuration = CoreConfiguration(endpoint, options: options, proxies: environment.proxies)
        state = NIOLockedValueBox(State(machine: ClientStateMachine(configuration: configuration), endpoint: endpoint))
        loopState = .makeBoxSendingValue(LoopState(), eventLoop: environment.eventLoop)
        let eventLoop = environment.eventLoop
        buffers.onCaughtUp { [weak self] in eventLoop.execute { self?.listenerCaughtUp() } }
    }

    /// The limits of the buffer of a sequence.
    var sequenceBudget: BufferBudget { listenerContext.sequenceBudget }

    /// The dispatcher of the callback queue in the options.
    var dispatcher: CallbackDispatcher { listenerContext.dispatcher }

    /// The dispatcher of the main queue. The client makes it at the first use, because most clients with another
    /// callback queue do not need it.
    var mainDispatcher: CallbackDispatcher {
        listenerContext.mainDispatcher {
            CallbackDispatcher(
                queue: .main,
                BufferBudget(count: limits.pendingCallbacks, size: limits.listenerBufferSize, of: buffers),
                eventLoop: eventLoop,
                logger: logger,
                changes: listenerContext.changes,
                epochs: listenerContext.epochs,
                work: work
            )
        }
    }

    // MARK: Time

    func now() -> Instant { Instant(clock(), since: origin) }

    /// Converts the machine's status to the app's status.
    func status(_ status: ConnectionStateMachine.Status) -> ConnectionStatus { ConnectionStatus(status, since: origin) }

    var status: ConnectionStatus { status(read { $0.machine.status }) }

    // MARK: The funnel

    /// Makes a transition, and makes the event loop carry out its effects. On the event loop, the effects run at once,
    /// unless the engine already carries out effects, or has scheduled this work. On other threads, they run in a later
    /// turn of the loop.
    @discardableResult
    func step<Result>(_ change: (inout State, Instant) -> Result) -> Result {
        let (result, mustDrain) = makeTransition(change)
        if mustDrain {
            if eventLoop.inEventLoop { drain() } else { eventLoop.execute { self.drain() } }
        }
        return result
    }

    /// Makes a transition of a call with which the app ends the connection. Afterwards, no callback for an event of the
    /// connection begins.
    ///
    /// - Parameter onlyIfConnected: Whether callbacks of a lost connection may still begin.
    func stepToNextEpoch(onlyIfConnected: Bool = false, _ change: (inout State, Instant) -> Void) {
        step { state, now in
            let isConnected = state.machine.connection.isConnected
            change(&state, now)
            guard isConnected || !onlyIfConnected else { return }
            beginEpoch(.endOfConnection, &state)
        }
    }

    /// Begins an epoch of callbacks, within the transition of the app's call.
    func beginEpoch(_ beginning: CallbackEpochs.Beginning, _ state: inout State) {
        let epoch = listenerContext.epochs.begin(beginning)
        state.pending.append(.epochBegan(connection: epoch.connection, user: epoch.user))
    }

    /// Makes a transition. If `mustDrain` is true, the caller must carry out the effects.
    func makeTransition<Result>(_ change: (inout State, Instant) -> Result) -> (Result, mustDrain: Bool) {
        let now = now()
        return state.withLockedValue { state in
            let result = change(&state, now)
            if !state.pending.isEmpty { hasPendingEffects.store(true, ordering: .releasing) }
            let mustDrain = !state.isDraining && !state.pending.isEmpty
            if mustDrain { state.isDraining = true }
            return (result, mustDrain)
        }
    }

    /// Reads the state.
    func read<Result>(_ body: (State) -> Result) -> Result { state.withLockedValue { body($0) } }

    /// Changes the state in a way that has no effects.
    func update<Result>(_ body: (inout State) -> Result) -> Result { state.withLockedValue(body) }

    /// Carries out effects until none are left. The app's code can cause effects without end, so sockets and timers get
    /// a turn after ``effectsInOneTurn`` effects. Call this method only if ``makeTransition(_:)`` has returned
    /// `mustDrain`.
    func drain() {
        carryOut()
        endTurn()
    }

    /// Carries out effects, as the first half of ``drain()``. The caller calls ``endTurn()`` at the end of the turn.
    func carryOut() {
        var count = 0
        var isDone = endDraining()
        while !isDone && count < Self.effectsInOneTurn {
            let effects = takePending()
            for effect in effects { run(effect) }
            count += effects.count
            isDone = endDraining()
        }
        if !isDone { inAnotherTurn { self.drain() } }
    }

    func endTurn() {
        forgetRecipients()
        endDelivery()
        flush()
        #if Metrics
            tellMetrics()
        #endif
    }

    private static let effectsInOneTurn = 10_000

    /// Runs the work after the loop has read and written sockets. The loop does not handle sockets while it has tasks
    /// that are due.
    func inAnotherTurn(_ work: @escaping @Sendable () -> Void) {
        eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1), work)
    }

    private func takePending() -> [Effect] {
        state.withLockedValue { state in
            hasPendingEffects.store(false, ordering: .relaxed)
            defer { state.pending = [] }
            return state.pending
        }
    }

    /// Ends a pass. If no effects are left, the method returns `true`, and the caller stops.
    private func endDraining() -> Bool {
        let counts = takeCounts()
        return state.withLockedValue { state in
            state.counts.add(counts)
            state.isDraining = !state.pending.isEmpty
            return !state.isDraining
        }
    }

    private func flush() {
        guard !loopState.value.unflushed.isEmpty else { return }
        let unflushed = loopState.value.unflushed
        loopState.value.unflushed.removeAll(keepingCapacity: true)
        for id in unflushed { loopState.value.connections[id]?.flush() }
        let now = now()
        update { state in
            for id in unflushed { state.machine.wrote(on: id, now: now) }
        }
    }

    // MARK: Timers

    func timerFired(_ firing: TimerTable<TimerID>.Firing) {
        guard loopState.value.timers.remove(firing) else { return }
        step { state, now in state.machine.timerFired(firing.id, now: now, into: &state.pending) }
        if firing.id.purpose == .keepAlive { logKeepAlive() }
    }

    // MARK: Waiting calls

    /// Begins a wait in the machine, and waits for the outcome. Cancellation ends the wait with `CancellationError`.
    ///
    /// - Parameters:
    ///   - channelName: The channel whose subscription the call waits for; nil for other waits.
    ///   - call: The name of a call that needs a connection but does not connect, for a warning; nil for other calls.
    ///   - limit: The time limit of the wait; nil for no limit.
    func wait(
        subscribing channelName: String? = nil,
        of call: String? = nil,
        atMost limit: WaitLimit? = nil,
        _ begin: @Sendable (inout ClientStateMachine, WaiterID, Instant, inout [Effect]) -> Void
    ) async throws -> WaiterOutcome {
        let waiter = state.withLockedValue { $0.machine.makeWaiter() }
        let watch = call.flatMap { watchForConnection($0) }
        let timer = NIOLockedValueBox<Scheduled<Void>?>(nil)
        let isTimedOut = ManagedAtomic(false)
        defer {
            watch?.cancel()
            timer.withLockedValue { $0 }?.cancel()
        }
        let wait = work?.makeWait()
        let outcome = await withCancellationHandler {
            await withCheckedContinuation { continuation in
                defer { wait?.began() }
                step { state, now in
                    state.waiters[waiter] = Waiter(continuation: continuation, wait: wait)
                    // Check the cancellation under the lock, so that a later cancellation finds the waiter.
                    if Task.isCancelled {
                        state.pending.append(.resume(waiter, .cancelled))
                    } else {
                        begin(&state.machine, waiter, now, &state.pending)
                    }
                }
                guard let limit else { return }
                // The wait has begun, so the timer finds the waiter.
                let scheduled = eventLoop.scheduleTask(in: TimeAmount(limit.duration)) {
                    isTimedOut.store(true, ordering: .relaxed)
                    self.cancelWait(waiter, subscribing: channelName)
                }
                timer.withLockedValue { $0 = scheduled }
            }
        } onCancel: {
            // The wait ends on the event loop, because the effects must not run inside the code that cancels the task.
            eventLoop.execute { self.cancelWait(waiter, subscribing: channelName) }
        }
        wait?.ended()
        switch outcome {
        case .connected, .done: return outcome
        case .failed(let error): throw error
        case .subscriptionFailed(let error): throw error
        case .cancelled:
            if let limit, isTimedOut.load(ordering: .relaxed), !Task.isCancelled { throw limit.error() }
            throw CancellationError()
        }
    }

    private func cancelWait(_ waiter: WaiterID, subscribing channelName: String?) {
        step { state, _ in state.machine.cancelWaiter(waiter, subscribing: channelName, into: &state.pending) }
    }

    func channel(_ id: ChannelID) -> PusherChannel? { read { $0.channels[id] } }

    // MARK: Release

    /// Releases the client after the app has released its last reference.
    func release() {
        stepToNextEpoch { state, now in state.machine.release(now: now, into: &state.pending) }
    }
}

/// Hides the engine from `dump`. Every object of the app refers to the engine, and the engine knows the secrets.
extension ClientEngine: CustomReflectable {
    /// An empty mirror, so that `dump` shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The time limit of a waiting call.
struct WaitLimit: Sendable {
    let duration: Duration
    /// The error that the call throws after this time.
    let error: @Sendable () -> any Error

    init(_ duration: Duration, _ error: @escaping @Sendable () -> any Error) {
        self.duration = duration
        self.error = error
    }
}
