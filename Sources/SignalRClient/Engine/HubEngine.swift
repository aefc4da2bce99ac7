import NIOConcurrencyHelpers
import NIOCore
import RealtimeNetworking
import RealtimePrimitives
import SignalRCore

/// Carries out the decisions of the ``HubStateMachine``, on one event loop.
final class HubEngine: LoopShell {
    typealias Machine = HubStateMachine

    private struct Call {
        var waiting: Waiting
        /// The ids of the uploads.
        var uploads: [CallID]

        enum Waiting {
            case invocation(CheckedContinuation<HubOutcome, any Error>, timeout: Scheduled<Void>?)
            case stream(StreamBuffer)
        }
    }

    private enum Waiter {
        case call(CheckedContinuation<Void, any Error>)
        /// An item of an upload, with its size.
        case item(UploadWindow, Int)
    }

    /// The state that only the event loop uses. It's an object, because each look into a box copies its value.
    private final class LoopState {
        var transport: (attempt: AttemptID, transport: any HubTransport)?
        /// The current attempt to open a transport, and the events that have already arrived over the transport.
        var opening: (attempt: AttemptID, task: Task<Void, Never>)?
        var early: [HubTransportEvent] = []
        var earlySize = 0
        var reopen: (@Sendable (_ receive: @escaping OpenedTransport.Receiver) async throws -> any HubTransport)?
        var refresh: (@Sendable () async throws -> Duration?)?
        var refreshing: (id: RefreshID, task: Task<Void, Never>)?
        var refreshWaiters: [WaiterID: CheckedContinuation<Duration?, any Error>] = [:]
        var waiters: [WaiterID: Waiter] = [:]
        /// The policies for further attempts, by the waiting call of `start(retrying:)`.
        var startPolicies: [WaiterID: any RetryPolicy] = [:]
        var calls: [CallID: Call] = [:]
        /// The uploads of calls that the client has not sent yet.
        var uploads: [CallID: Upload] = [:]
        var uploading: [CallID: Task<Void, Never>] = [:]
        /// The calls that ended because of their timeout.
        var timedOut: Set<CallID> = []
        /// The timer after which calls without a handler do not wait for one.
        var holding: Scheduled<Void>?

        /// Whether the current step has sent messages that the transport may still hold.
        var hasSent = false
        /// Whether a line of the log contains the reason of the wait that the client announces next.
        var hasLoggedReason = false

        var waitingCallCount: Int {
            refreshWaiters.count + waiters.count + calls.count + uploads.count + uploading.count
        }
    }

    struct Callbacks: Sendable {
        var closed: [@Sendable ((any Error)?) async -> Void] = []
        var reconnecting: [@Sendable ((any Error)?) async -> Void] = []
        var reconnected: [@Sendable () async -> Void] = []
        var refreshed: [@Sendable (Duration?) async -> Void] = []
        var refreshFailed: [@Sendable (any Error) async -> Void] = []
    }

    private struct Shared {
        var state = Machine.State.stopped
        var callbacks = Callbacks()
        var serial: UInt64 = 0
        /// Names of methods without a handler that the log has warned about.
        var unknownMethods: Set<String> = []
    }

    let driver: MachineDriver<Machine, HubConnectionStatus>
    let coder: HubCoder
    let handlers = HandlerRegistry()
    let logger: HubLogger
    private let opener: any HubTransportOpener
    private let retryPolicy: (any RetryPolicy)?
    private let wantsResumption: Bool
    private let invocationTimeout: Duration?
    private let receiveBufferSize: Int
    private let uploadBufferSize: Int
    private let logsContent: Bool
    private var eventLoop: any EventLoop { driver.eventLoop }
    private let loopState: NIOLoopBoundBox<LoopState>
    private let shared = NIOLockedValueBox(Shared())
    private let handlerQueue: SerialQueue
    /// The queue for callbacks about the connection. The queue is separate from the handlers' queue, so a slow handler
    /// does not delay these callbacks.
    private let callbackQueue = SerialQueue(limit: .max)

    struct Options: Sendable {
        var machine: HubStateMachine.Configuration
        var coder: HubCoder
        var retryPolicy: (any RetryPolicy)?
        var wantsResumption: Bool
        var invocationTimeout: Duration?
        var receiveBufferSize: Int
        var uploadBufferSize = HttpConnectionOptions().uploadBufferSize
        var logger: HubLogger
        var logsContent: Bool
    }

    /// - Parameter now: The clock, which continues while the computer is suspended.
    init(
        _ options: Options,
        opener: any HubTransportOpener,
        on eventLoop: any EventLoop,
        now: @escaping @Sendable () -> Duration
    ) {
        coder = options.coder
        logger = options.logger
        retryPolicy = options.retryPolicy
        wantsResumption = options.wantsResumption
        invocationTimeout = options.invocationTimeout
        receiveBufferSize = options.receiveBufferSize
        uploadBufferSize = options.uploadBufferSize
        logsContent = options.logsContent
        handlerQueue = SerialQueue(limit: options.receiveBufferSize)
        self.opener = opener
        let origin = ContinuousClock.now
        driver = MachineDriver(Machine(options.machine), .stopped(nil), on: eventLoop) { origin + now() }
        loopState = .makeBoxSendingValue(LoopState(), eventLoop: eventLoop)
    }

    /// Closes the connection after the app has released it, and then ends all sequences.
    func release() {
        Task { [self] in
            await stop()
            driver.state.finish()
            handlers.removeAll()
        }
    }

    // MARK: Reading, on any thread

    /// The state of the machine. It changes before the status that announces it.
    var machineState: Machine.State { shared.withLockedValue { $0.state } }

    func connected(within timeout: Duration?) async throws {
        let late = SignalRClientError(
            .waitTimedOut,
            "Connection timed out: there was no connection within \((timeout ?? .zero).inWords)."
        )
        try await wait(within: timeout, orThrow: late) { [self] status -> Result<Void, any Error>? in
            // While a transport closes, the status is still the old one.
            switch (machineState, status) {
            case (.connected, .connected), (.connected, .resumed): return .success(())
            case (.stopped, _):
                return .failure(SignalRError.invalidOperation("the connection is stopped. Call start() first."))
            default: return nil
            }
        }
    }

    func addCallback(_ change: (inout Callbacks) -> Void) { shared.withLockedValue { change(&$0.callbacks) } }

    func waitingCallCount() async throws -> Int {
        try await eventLoop.submit { [self] in loopState.value.waitingCallCount }.get()
    }

    func residueCount() async throws -> Int {
        try await eventLoop.submit { [self] in
            let state = loopState.value
            return state.waitingCallCount + (driver.machine.wakeUp == nil ? 0 : 1) + state.timedOut.count
                + state.startPolicies.count
                + state.early.count + (state.opening == nil ? 0 : 1) + (state.transport == nil ? 0 : 1)
                + (state.refreshing == nil ? 0 : 1)
        }.get()
    }

    private func nextSerial() -> UInt64 {
        shared.withLockedValue { shared in
            shared.serial += 1
            return shared.serial
        }
    }

    // MARK: Calls of the app, on any thread

    func start(retrying policy: (any RetryPolicy)? = nil) async throws {
        let id = WaiterID(nextSerial())
        if let policy { onLoop { [self] in loopState.value.startPolicies[id] = policy } }
        try await withCancellationHandler {
            try await wait(id) {
                $0.start(id, retries: policy != nil, now: $1)
            } onCancelled: { [self] in
                cancelStart(id)
            }
        } onCancel: {
            cancelStart(id)
        }
    }

    private func cancelStart(_ id: WaiterID) { step { $0.cancelStart(id, now: $1) } }

    func stop() async {
        let id = WaiterID(nextSerial())
        // `stop` has no result, because stopping never fails.
        try? await wait(id) { $0.stop(id, now: $1) }
    }

    func refreshAuthentication() async throws -> Duration? {
        let id = WaiterID(nextSerial())
        return try await withCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onLoop { [self] in
                    loopState.value.refreshWaiters[id] = continuation
                    step { $0.refresh(id, now: $1) }
                }
                if Task.isCancelled { cancelWaiting(id) }
            }
        } onCancel: {
            cancelWaiting(id)
        }
    }

    /// Ends the wait for a refresh. The refresh itself continues.
    private func cancelWaiting(_ id: WaiterID) {
        onLoop { [self] in
            loopState.value.refreshWaiters.removeValue(forKey: id)?.resume(throwing: CancellationError())
        }
    }

    func send(_ method: String, _ arguments: CallArguments) async throws {
        let id = WaiterID(nextSerial())
        let (invocation, uploads) = prepare(method, arguments)
        do {
            try await wait(id, uploads: uploads) { $0.send(id, invocation, now: $1) }
        } catch {
            if !uploads.isEmpty { onLoop { [self] in forget(Array(uploads.keys)) } }
            throw error
        }
    }

    func invoke(_ method: String, _ arguments: CallArguments) async throws -> HubOutcome {
        let id = CallID(nextSerial())
        let (invocation, uploads) = prepare(method, arguments)
        return try await withCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                onLoop { [self] in
                    let timeout = invocationTimeout.map { time in
                        eventLoop.scheduleTask(in: TimeAmount(clamping: time)) { [self] in timeOut(id) }
                    }
                    add(.invocation(continuation, timeout: timeout), id, uploads)
                    step { $0.invoke(id, invocation, now: $1) }
                }
                // If the task was cancelled before the step, `onCancel` found no call to cancel. So the code checks
                // again.
                if Task.isCancelled { cancelCall(id) }
            }
        } onCancel: {
            cancelCall(id)
        }
    }

    func stream(_ method: String, _ arguments: CallArguments) async throws -> StreamLease {
        if Task.isCancelled { throw CancellationError() }
        let state = machineState
        guard state == .connected else { throw HubFailure.notConnected("stream(method:arguments:)", in: state).error }
        let id = CallID(nextSerial())
        let (invocation, uploads) = prepare(method, arguments)
        let buffer = StreamBuffer(limit: receiveBufferSize)
        onLoop { [self] in
            add(.stream(buffer), id, uploads)
            step { $0.stream(id, invocation, now: $1) }
        }
        return StreamLease(buffer, coder) { [weak self] in self?.cancelCall(id) }
    }

    private func add(_ waiting: Call.Waiting, _ id: CallID, _ uploads: [CallID: Upload]) {
        loopState.value.uploads.merge(uploads) { $1 }
        loopState.value.calls[id] = Call(waiting: waiting, uploads: Array(uploads.keys))
    }

    private func cancelCall(_ id: CallID) { step { $0.cancelCall(id, now: $1) } }

    private func timeOut(_ id: CallID) {
        guard loopState.value.calls[id] != nil else { return }
        loopState.value.timedOut.insert(id)
        cancelCall(id)
    }

    private func prepare(_ method: String, _ arguments: CallArguments) -> (HubInvocation, [CallID: Upload]) {
        let uploads = arguments.uploads.map { (CallID(nextSerial()), $0) }
        let invocation = HubInvocation(
            target: method,
            arguments: arguments.encoded,
            streamIDs: uploads.map { "\($0.0)" }
        )
        return (invocation, Dictionary(uniqueKeysWithValues: uploads))
    }

    /// Removes the uploads of a call that the client has not sent. The method releases them after it has changed the
    /// state, because releasing an upload can run the app's `deinit` code.
    private func forget(_ uploads: [CallID]) {
        let removed = uploads.compactMap { loopState.value.uploads.removeValue(forKey: $0) }
        _ = removed
    }

    private func wait(
        _ id: WaiterID,
        uploads: [CallID: Upload] = [:],
        _ input: @escaping @Sendable (inout Machine, Duration) -> [Machine.Action],
        onCancelled: (() -> Void)? = nil
    ) async throws {
        try await withCheckedThrowingContinuation { continuation in
            onLoop { [self] in
                loopState.value.uploads.merge(uploads) { $1 }
                loopState.value.waiters[id] = .call(continuation)
                step(input)
            }
            if Task.isCancelled { onCancelled?() }
        }
    }

    // MARK: The event loop

    private func onLoop(_ body: @escaping @Sendable () -> Void) {
        if eventLoop.inEventLoop { body() } else { eventLoop.execute(body) }
    }

    func wake(_ machine: inout Machine, now: Duration) -> [Machine.Action] { machine.wake(now: now) }

    func run(all actions: [Machine.Action]) {
        // The engine updates the state first, so consumers of a status already see the matching state.
        let state = driver.machine.state
        shared.withLockedValue { $0.state = state }
        for action in actions { run(action) }
        if loopState.value.hasSent {
            loopState.value.hasSent = false
            loopState.value.transport?.transport.flush()
        }
    }

    func run(_ action: Machine.Action) {
        switch action {
        case .open(let attempt): open(attempt)
        case .reopen(let attempt): reopen(attempt)
        case .write(let attempt, let bytes, let receipt): write(bytes, receipt, attempt)
        case .close(let attempt): if let transport = transport(attempt) { transport.close() }
        case .abort(let attempt): abort(attempt)
        case .askRetryPolicy(let question, let start):
            let policy = start.map { loopState.value.startPolicies[$0] } ?? retryPolicy
            let context = RetryContext(
                retryCount: question.retryCount,
                elapsed: question.elapsed / .seconds(1),
                retryReason: question.reason?.error
            )
            let delay = policy?.nextRetryInterval(retryContext: context).map(Duration.init(clampingSeconds:))
            step { $0.retryDecided(question.attempt, delay: delay, now: $1) }
        case .refreshAuthentication(let id): refresh(id)
        case .cancelRefresh(let id):
            guard let refreshing = loopState.value.refreshing, refreshing.id == id else { return }
            loopState.value.refreshing = nil
            refreshing.task.cancel()
        case .finishRefresh(let id, let result):
            loopState.value.refreshWaiters.removeValue(forKey: id)?.resume(with: result.mapError { $0.error })
        case .announceRefreshed(let lifetime):
            for callback in shared.withLockedValue({ $0.callbacks.refreshed }) {
                _ = callbackQueue.add { await callback(lifetime) }
            }
        case .announceRefreshFailed(let failure):
            logger.log(.warning, "The client could not refresh the authentication: \(failure.error)")
            for callback in shared.withLockedValue({ $0.callbacks.refreshFailed }) {
                _ = callbackQueue.add { await callback(failure.error) }
            }
        case .finishStart(let id, let failure), .finishSend(let id, let failure): finish(id, failure?.error)
        case .finishStop(let id): finish(id, nil)
        case .finishCall(let id, let result): finish(id, result)
        case .deliverItem(let id, let item): deliver(item, to: id)
        case .beginUploads(let ids): for id in ids { beginUpload(id) }
        case .cancelUpload(let id): loopState.value.uploading.removeValue(forKey: id)?.cancel()
        case .deliver(let invocation, let session): deliver(invocation, session)
        case .announceReconnecting(let failure):
            loopState.value.hasLoggedReason = true
            logger.log(.warning, "Reconnecting: \(failure.map { "\($0.error)" } ?? "the server closed the connection")")
            for callback in shared.withLockedValue({ $0.callbacks.reconnecting }) {
                _ = callbackQueue.add { await callback(failure?.error) }
            }
        case .announceReconnected:
            for callback in shared.withLockedValue({ $0.callbacks.reconnected }) {
                _ = callbackQueue.add { await callback() }
            }
        case .announceClosed(let failure):
            for callback in shared.withLockedValue({ $0.callbacks.closed }) {
                _ = callbackQueue.add { await callback(failure?.error) }
            }
        case .publish(let status): publish(HubConnectionStatus(status, instant: driver.instant))
        case .ignored(let reason): logger.log(.debug, "Ignored \(reason)")
        }
    }

    private func publish(_ status: HubConnectionStatus) {
        switch status {
        case .connected: holdCalls()
        case .stopped: endHoldingCalls()
        case .connecting, .waiting, .resuming, .resumed: break
        }
        let text = status.logText(at: driver.instant(driver.now), hasLoggedReason: loopState.value.hasLoggedReason)
        loopState.value.hasLoggedReason = false
        logger.log(.information, "State: \(text)")
        driver.state.change(to: status, isFinal: false)
    }

    // MARK: Transports

    private func open(_ attempt: AttemptID) {
        (loopState.value.reopen, loopState.value.refresh) = (nil, nil)
        let task = Task { [self] in
            do {
                let transport = try await opener.open(
                    wantsResumption: wantsResumption,
                    on: eventLoop,
                    receive: receiver(attempt)
                )
                opened(attempt, transport)
            } catch {
                failed(attempt, HubFailure(error))
            }
        }
        loopState.value.opening = (attempt, task)
    }

    private func reopen(_ attempt: AttemptID) {
        let (reopen, refresh) = (loopState.value.reopen, loopState.value.refresh)
        let task = Task { [self] in
            do {
                guard let reopen else { throw SignalRError.cannotSentUntilTransportConnected }
                let info = TransportInfo(connectionID: nil, transport: .webSockets, canBeResumed: true)
                let transport = try await reopen(receiver(attempt))
                opened(attempt, OpenedTransport(transport, info, reopen: reopen, refresh: refresh))
            } catch {
                failed(attempt, HubFailure(error))
            }
        }
        loopState.value.opening = (attempt, task)
    }

    private func opened(_ attempt: AttemptID, _ opened: OpenedTransport) {
        eventLoop.execute { [self] in
            guard loopState.value.opening?.attempt == attempt else { return opened.transport.abort() }
            loopState.value.opening = nil
            loopState.value.transport = (attempt, opened.transport)
            (loopState.value.reopen, loopState.value.refresh) = (opened.reopen, opened.refresh)
            step(catchesUp: false) { $0.opened(attempt, opened.info, now: $1) }
            let early = loopState.value.early
            (loopState.value.early, loopState.value.earlySize) = ([], 0)
            for event in early { received(event, attempt) }
        }
    }

    private func failed(_ attempt: AttemptID, _ failure: HubFailure) {
        eventLoop.execute { [self] in
            guard loopState.value.opening?.attempt == attempt else { return }
            forgetOpening()
            step(catchesUp: false) { $0.failed(attempt, failure, now: $1) }
        }
    }

    private func refresh(_ id: RefreshID) {
        let refresh = loopState.value.refresh
        let task = Task { [self] in
            let result: Result<Duration?, HubFailure>
            do {
                result = .success(try await refresh?())
            } catch {
                result = .failure(HubFailure(error))
            }
            onLoop { [self] in
                if loopState.value.refreshing?.id == id { loopState.value.refreshing = nil }
                step(catchesUp: false) { $0.refreshed(id, result, now: $1) }
            }
        }
        loopState.value.refreshing = (id, task)
    }

    private func receiver(_ attempt: AttemptID) -> OpenedTransport.Receiver {
        { [weak self] event in self?.received(event, attempt) }
    }

    /// Handles an event of a transport, on the event loop.
    private func received(_ event: HubTransportEvent, _ attempt: AttemptID) {
        guard transport(attempt) != nil else {
            // The machine does not know yet that this transport is open, so the engine keeps the event.
            if loopState.value.opening?.attempt == attempt { receivedEarly(event, attempt) }
            return
        }
        switch event {
        case .bytes(let bytes):
            logContent("Received", bytes)
            step(catchesUp: false) { $0.received(attempt, bytes, now: $1) }
        case .closed(let failure):
            loopState.value.transport = nil
            step(catchesUp: false) { $0.closed(attempt, failure, now: $1) }
        }
    }

    private func receivedEarly(_ event: HubTransportEvent, _ attempt: AttemptID) {
        loopState.value.early.append(event)
        if case .bytes(let bytes) = event { loopState.value.earlySize += bytes.count }
        if loopState.value.earlySize <= receiveBufferSize { return }
        let message = "Receive buffer full: the server sent more than \(receiveBufferSize) bytes at once."
        loopState.value.opening?.task.cancel()
        failed(attempt, .client(SignalRClientError(.receiveBufferFull, message)))
    }

    private func transport(_ attempt: AttemptID) -> (any HubTransport)? {
        guard let transport = loopState.value.transport, transport.attempt == attempt else { return nil }
        return transport.transport
    }

    private func abort(_ attempt: AttemptID) {
        if loopState.value.opening?.attempt == attempt {
            loopState.value.opening?.task.cancel()
            forgetOpening()
        }
        if let transport = transport(attempt) {
            loopState.value.transport = nil
            transport.abort()
        }
    }

    private func forgetOpening() {
        loopState.value.opening = nil
        (loopState.value.early, loopState.value.earlySize) = ([], 0)
    }

    private func logContent(_ verb: String, _ bytes: [UInt8]) {
        if logsContent { logger.log(.debug, "\(verb) \(String(decoding: bytes, as: UTF8.self).escapingControls)") }
    }

    private func write(_ bytes: [UInt8], _ receipt: WaiterID?, _ attempt: AttemptID) {
        guard let transport = transport(attempt) else {
            if let receipt { finish(receipt, SignalRError.cannotSentUntilTransportConnected) }
            return
        }
        logContent("Sent", bytes)
        loopState.value.hasSent = true
        guard let receipt else { return transport.send(bytes, promise: nil) }
        let promise = eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { [self] result in
            switch result {
            case .success: finish(receipt, nil)
            case .failure(let error): finish(receipt, HubFailure(error).error)
            }
        }
        transport.send(bytes, promise: promise)
    }

    // MARK: Ends of calls

    private func finish(_ id: WaiterID, _ error: (any Error)?) {
        // Releasing a policy can run the app's `deinit` code, so it happens after the state has changed.
        let policy = loopState.value.startPolicies.removeValue(forKey: id)
        _ = policy
        switch loopState.value.waiters.removeValue(forKey: id) {
        case .call(let continuation)?:
            if let error { continuation.resume(throwing: error) } else { continuation.resume() }
        case .item(let window, let size)?:
            if let error { window.fail(error) } else { window.release(size) }
        case nil: break
        }
    }

    private func finish(_ id: CallID, _ result: Result<HubOutcome, HubFailure>) {
        let hasTimedOut = loopState.value.timedOut.remove(id) != nil
        guard let call = loopState.value.calls.removeValue(forKey: id) else { return }
        // If the client has not sent the call, its uploads have not begun.
        forget(call.uploads)
        switch call.waiting {
        case .invocation(let continuation, let timeout):
            timeout?.cancel()
            if hasTimedOut, let invocationTimeout {
                let message = "Call timed out: the server did not answer within \(invocationTimeout.inWords)."
                continuation.resume(throwing: SignalRClientError(.callTimedOut, message))
            } else {
                continuation.resume(with: result.mapError { $0.error })
            }
        case .stream(let buffer):
            // The app itself cancelled the stream, so the sequence ends without an error.
            if case .failure(.cancelled) = result { return buffer.finish(.success(())) }
            buffer.finish(result.map { _ in }.mapError { $0.error })
        }
    }

    private func deliver(_ item: EncodedValue, to id: CallID) {
        guard case .stream(let buffer) = loopState.value.calls[id]?.waiting, !buffer.append(item) else { return }
        let message =
            "Receive buffer full: more than \(receiveBufferSize) bytes of items wait. Iterate the stream faster."
        buffer.finish(.failure(SignalRClientError(.receiveBufferFull, message)))
        cancelCall(id)
    }

    // MARK: Uploads

    private func beginUpload(_ id: CallID) {
        guard let upload = loopState.value.uploads.removeValue(forKey: id) else { return }
        loopState.value.uploading[id] = Task { [self] in
            let window = UploadWindow(limit: uploadBufferSize)
            var text: String?
            do {
                try await upload.run { [self] item in
                    if try await window.add(item) { onLoop { [self] in send(window, of: id) } }
                }
            } catch {
                // As with a handler, any other error may contain secrets.
                text = (error as? HubError)?.message ?? "The client's stream failed."
            }
            let error = text
            onLoop { [self] in
                loopState.value.uploading[id] = nil
                step { $0.endUpload(id, error: error, now: $1) }
            }
        }
    }

    /// Sends the items that an upload has added.
    private func send(_ window: UploadWindow, of id: CallID) {
        let items = window.take().map { (item: $0, receipt: WaiterID(nextSerial())) }
        for (item, receipt) in items {
            loopState.value.waiters[receipt] = .item(window, UploadWindow.size(of: item))
        }
        step { machine, now in
            items.flatMap { machine.upload(id, item: $0.item, receipt: $0.receipt, now: now) }
        }
    }

    // MARK: Calls of the server

    private func deliver(_ invocation: HubInvocation, _ session: SessionID) {
        // An argument is a part of a whole read of the socket. The copy keeps only the argument in memory.
        let invocation = HubInvocation(
            id: invocation.id,
            target: invocation.target,
            arguments: invocation.arguments.map { ArraySlice(Array($0)) }
        )
        // Calls and arguments without content take memory too, so the size contains 256 and 64 additional bytes.
        let names = 256 + invocation.target.utf8.count + (invocation.id?.utf8.count ?? 0)
        let size = invocation.arguments.reduce(names) { $0 + $1.count + 64 }
        let isAdded = handlerQueue.add(size: size) { [weak self] in
            await self?.handle(invocation, session, size: size)
        }
        if isAdded { return }
        let message = "Receive buffer full: more than \(receiveBufferSize) bytes of messages wait for handlers."
        step { $0.overflowed(session, message, now: $1) }
    }

    private func handle(_ invocation: HubInvocation, _ session: SessionID, size: Int) async {
        let lookup = handlers.lookUp(invocation.target, holding: invocation, size: size)
        if lookup.isHeld { return }
        await callHeld(lookup)
        if lookup.handlers.isEmpty {
            // The server decides how often it calls the method, and how many names it uses.
            let isNew = shared.withLockedValue { shared in
                shared.unknownMethods.count < 20 && shared.unknownMethods.insert(invocation.target).inserted
            }
            logger.log(isNew ? .warning : .debug, "No handler for the method '\(Self.printable(invocation.target))'")
        }
        if lookup.handlers.contains(where: \.isConcurrent) {
            handlerQueue.reserve(size)
            Task { [self] in
                await call(lookup.handlers, invocation, session)
                handlerQueue.release(size)
            }
        } else {
            await call(lookup.handlers, invocation, session)
        }
    }

    // MARK: Calls without a handler

    /// The time for which a call waits for a handler. It begins with the connection.
    static let holdingTime = Duration.seconds(5)

    /// Adds a handler. The handler first gets the calls that waited for it. Any thread may call this method.
    func addHandler(
        _ method: String,
        isConcurrent: Bool,
        _ call: @escaping @Sendable ([EncodedValue]) async throws -> EncodedValue?,
        onRemoval: @escaping @Sendable () -> Void = {}
    ) -> UInt64 {
        let id = handlers.add(method, isConcurrent: isConcurrent, call, onRemoval: onRemoval)
        if handlers.isHolding {
            // A later call of the method may be in the queue already. It runs the earlier calls first, and this job then
            // finds none.
            _ = handlerQueue.add(size: 0) { [weak self] in
                guard let self else { return }
                await callHeld(handlers.lookUp(method))
            }
        }
        return id
    }

    /// Runs the calls that waited for a handler.
    private func callHeld(_ lookup: HandlerRegistry.Lookup) async {
        if lookup.droppedCount > 0 { logger.log(.warning, Self.text(ofDropped: lookup.droppedCount)) }
        for invocation in lookup.earlier {
            if lookup.handlers.contains(where: \.isConcurrent) {
                Task { [self] in await run(lookup.handlers, invocation) }
            } else {
                await run(lookup.handlers, invocation)
            }
        }
    }

    private static func text(ofDropped count: Int) -> LogMessage {
        """
        Calls dropped: \(count). They arrived before their method had a handler. Until then, a connection keeps the newest \
        \(HeldInvocations.maximumCount) calls or \(HeldInvocations.maximumSize) bytes. Register handlers before start().
        """
    }

    private func holdCalls() {
        handlers.hold()
        loopState.value.holding?.cancel()
        loopState.value.holding = eventLoop.scheduleTask(in: TimeAmount(clamping: Self.holdingTime)) { [weak self] in
            self?.endHoldingCalls()
        }
    }

    private func endHoldingCalls() {
        loopState.value.holding?.cancel()
        loopState.value.holding = nil
        let (counts, elsewhere) = handlers.endHolding()
        for (method, count) in counts.sorted(by: { $0.key.text < $1.key.text }) {
            logger.log(.warning, "No handler for the method '\(Self.printable(method.text))': \(count) calls dropped")
        }
        if elsewhere > 0 { logger.log(.warning, "No handler for other methods: \(elsewhere) calls dropped") }
    }

    // MARK: Handlers

    /// Returns the name of a method, which the server chooses, for a line of the log.
    private static func printable(_ method: String) -> String { method.shortened.escapingControls }

    /// Warns about a handler whose types do not fit the call, and reports any other error as a failure of the app.
    private func logHandlerFailure(_ error: any Error, of method: String) {
        let method = Self.printable(method)
        if let error = error as? SignalRClientError, error.code == .decodingFailed {
            logger.log(.warning, "The types of a handler do not fit a call of the method '\(method)': \(error)")
        } else {
            logger.log(.error, "A handler of the method '\(method)' failed: \(error)")
        }
    }

    /// Runs the handlers of a call.
    ///
    /// - Returns: The handlers' results, and the message of the first error.
    @discardableResult
    private func run(
        _ handlers: [Handler],
        _ invocation: HubInvocation
    ) async -> (results: [EncodedValue], failure: String?) {
        var results: [EncodedValue] = []
        var failure: String?
        for handler in handlers {
            do {
                if let result = try await handler.call(invocation.arguments) { results.append(result) }
            } catch {
                logHandlerFailure(error, of: invocation.target)
                failure = failure ?? HubError.message(for: error)
            }
        }
        return (results, failure)
    }

    /// Runs the handlers of a call, and answers the server if it wants a result.
    private func call(_ handlers: [Handler], _ invocation: HubInvocation, _ session: SessionID) async {
        let (results, failure) = await run(handlers, invocation)
        guard let id = invocation.id else { return }
        let outcome: HubOutcome
        if let failure {
            outcome = .error(failure)
        } else if results.count > 1 {
            outcome = .error("Client provided multiple results.")
        } else if handlers.isEmpty {
            outcome = .error("Client didn't provide a result.")
        } else {
            outcome = .value(results.first ?? coder.hubProtocol.null)
        }
        step { $0.answer(outcome, to: id, of: session, now: $1) }
    }
}

extension HubConnectionStatus {
    fileprivate init(_ status: HubStatus, instant: (Duration) -> ContinuousClock.Instant) {
        switch status {
        case .stopped(let failure): self = .stopped(failure?.error)
        case .connecting(let attempt): self = .connecting(attempt: attempt)
        case .waiting(let time, let attempt, let reason):
            self = .waiting(until: instant(time), attempt: attempt, reason: reason?.error)
        case .connected(let info): self = .connected(connectionID: info.connectionID, transport: info.transport)
        case .resuming(let info): self = .resuming(connectionID: info.connectionID, transport: info.transport)
        case .resumed(let info): self = .resumed(connectionID: info.connectionID, transport: info.transport)
        }
    }
}

extension HubConnectionStatus {
    /// Returns the status with the length of a wait instead of its end.
    fileprivate func logText(at now: ContinuousClock.Instant, hasLoggedReason: Bool) -> String {
        guard case .waiting(_, let attempt, let reason) = self, let wait = remaining(at: now) else { return "\(self)" }
        let failure = hasLoggedReason ? "" : reason.map { ", reason: \($0)" } ?? ""
        return "waiting(for: \(wait.inWords), attempt: \(attempt)\(failure))"
    }
}

extension Duration {
    /// Creates a duration between zero and 10⁹ seconds. A clock traps if it cannot represent the end of a wait. For
    /// NaN, the duration is zero.
    package init(clampingSeconds seconds: TimeInterval) {
        self = .seconds(seconds > 0 ? min(seconds, 1e9) : 0)
    }
}
