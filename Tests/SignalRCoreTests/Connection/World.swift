import RealtimePrimitives
import SignalRCore
import Testing

/// A machine with a clock that only the test advances. The world adds an entry to ``violations`` when the machine
/// breaks a rule for its actions.
struct World {
    typealias Action = HubStateMachine.Action

    var machine: HubStateMachine
    var now = Duration.zero
    /// The actions since the last call of ``take()``.
    private(set) var actions: [Action] = []

    private(set) var attempts: [AttemptID] = []
    private var live: Set<AttemptID> = []
    private var openedAttempts: Set<AttemptID> = []
    private var waiting: Set<WaiterID> = []
    private(set) var calls: Set<CallID> = []
    private(set) var lastSession: SessionID?
    private(set) var questions: [Int] = []
    private(set) var refreshes: [RefreshID] = []
    private var runningRefresh: RefreshID?
    private var serial: UInt64 = 0
    private(set) var violations: [String] = []

    init(
        _ hubProtocol: HubProtocol = .json,
        reconnects: Bool = false,
        _ configure: (inout HubStateMachine.Configuration) -> Void = { _ in }
    ) {
        var configuration = HubStateMachine.Configuration(hubProtocol)
        configuration.reconnects = reconnects
        configure(&configuration)
        machine = HubStateMachine(configuration)
    }

    /// Returns the actions since the last call.
    mutating func take() -> [Action] {
        defer { actions = [] }
        return actions
    }

    // MARK: Inputs

    mutating func input(_ body: (inout HubStateMachine, Duration) -> [Action]) {
        for action in body(&machine, now) { carryOut(action) }
        check()
    }

    mutating func nextSerial() -> UInt64 {
        serial += 1
        return serial
    }

    private mutating func waiter() -> WaiterID {
        let id = WaiterID(nextSerial())
        waiting.insert(id)
        return id
    }

    @discardableResult mutating func start(retries: Bool = false) -> WaiterID {
        let id = waiter()
        input { $0.start(id, retries: retries, now: $1) }
        return id
    }

    @discardableResult mutating func stop() -> WaiterID {
        let id = waiter()
        input { $0.stop(id, now: $1) }
        return id
    }

    @discardableResult mutating func send(_ target: String = "M", uploads: [CallID] = []) -> WaiterID {
        let id = waiter()
        let invocation = HubInvocation(target: target, streamIDs: uploads.map { "\($0)" })
        input { $0.send(id, invocation, now: $1) }
        return id
    }

    @discardableResult mutating func invoke(_ target: String = "M", uploads: [CallID] = []) -> CallID {
        let id = call()
        let invocation = HubInvocation(target: target, streamIDs: uploads.map { "\($0)" })
        input { $0.invoke(id, invocation, now: $1) }
        return id
    }

    @discardableResult mutating func stream(_ target: String = "S") -> CallID {
        let id = call()
        input { $0.stream(id, HubInvocation(target: target), now: $1) }
        return id
    }

    private mutating func call() -> CallID {
        let id = CallID(nextSerial())
        calls.insert(id)
        return id
    }

    @discardableResult mutating func upload(_ id: CallID, _ item: EncodedValue = json("1")) -> WaiterID {
        let receipt = waiter()
        input { $0.upload(id, item: item, receipt: receipt, now: $1) }
        return receipt
    }

    /// Opens the transport of the latest attempt.
    mutating func open(_ info: TransportInfo = .webSocket) {
        guard let id = attempts.last else { return }
        if live.contains(id) { openedAttempts.insert(id) }
        input { $0.opened(id, info, now: $1) }
    }

    mutating func fail(_ failure: HubFailure = .test) {
        guard let id = attempts.last else { return }
        // For an open transport, the input is invalid, and the machine ignores it.
        if !openedAttempts.contains(id) { live.remove(id) }
        input { $0.failed(id, failure, now: $1) }
    }

    mutating func close(_ failure: HubFailure? = .test) {
        guard let id = attempts.last else { return }
        if openedAttempts.contains(id) { live.remove(id) }
        input { $0.closed(id, failure, now: $1) }
    }

    mutating func receive(bytes: [UInt8]) {
        guard let id = attempts.last else { return }
        input { $0.received(id, bytes, now: $1) }
    }

    mutating func receive(_ messages: HubMessage...) {
        receive(bytes: messages.flatMap(machine.configuration.hubProtocol.encode))
    }

    mutating func receiveHandshake() { receive(bytes: Handshake.response(error: nil)) }

    mutating func decide(_ delay: Duration?) {
        guard let question = questions.last else { return }
        input { $0.retryDecided(question, delay: delay, now: $1) }
    }

    /// Connects the machine.
    mutating func connect(_ info: TransportInfo = .webSocket) {
        start()
        open(info)
        receiveHandshake()
        _ = take()
    }

    @discardableResult mutating func refresh() -> WaiterID {
        let id = waiter()
        input { $0.refresh(id, now: $1) }
        return id
    }

    /// Answers the latest refresh.
    mutating func answerRefresh(_ result: Result<Duration?, HubFailure>) {
        guard let id = refreshes.last else { return }
        if runningRefresh == id { runningRefresh = nil }
        input { $0.refreshed(id, result, now: $1) }
    }

    // MARK: Time

    /// Advances the clock, and wakes the machine at each of its times.
    mutating func advance(by time: Duration) {
        let end = now + time
        while let due = machine.wakeUp, due <= end {
            now = max(now, due)
            input { $0.wake(now: $1) }
            if machine.wakeUp == due, due < now { violations.append("a time that is over remains") }
        }
        now = end
    }

    // MARK: Promises

    private mutating func carryOut(_ action: Action) {
        switch action {
        case .open(let id), .reopen(let id):
            attempts.append(id)
            live.insert(id)
        case .abort(let id): live.remove(id)
        case .close(let id): if !live.contains(id) { violations.append("closes a transport that is not there") }
        case .write(let id, _, let receipt):
            if !live.contains(id) { violations.append("writes to a transport that is not there") }
            if let receipt { finish(receipt) }
        case .askRetryPolicy(let question, _): questions.append(question.attempt)
        case .finishStart(let id, _), .finishStop(let id), .finishSend(let id, _), .finishRefresh(let id, _):
            finish(id)
        case .refreshAuthentication(let id):
            if runningRefresh != nil { violations.append("two refreshes at once") }
            refreshes.append(id)
            runningRefresh = id
        case .cancelRefresh(let id): if runningRefresh == id { runningRefresh = nil }
        case .finishCall(let id, _):
            if calls.remove(id) == nil { violations.append("ends the call \(id) twice") }
        case .deliverItem(let id, _): if !calls.contains(id) { violations.append("an item after the end of \(id)") }
        case .deliver(_, let session): lastSession = session
        case .beginUploads, .cancelUpload, .announceReconnecting, .announceReconnected, .announceClosed, .publish,
            .announceRefreshed, .announceRefreshFailed, .ignored:
            break
        }
        actions.append(action)
    }

    private mutating func finish(_ id: WaiterID) {
        if waiting.remove(id) == nil { violations.append("\(id) returns twice") }
    }

    private mutating func check() {
        if live.count > 1 { violations.append("\(live.count) live transports") }
        if calls != machine.pendingCalls {
            violations.append("calls that nobody will end: \(calls), \(machine.pendingCalls)")
        }
        // While the transport closes, there is a time limit although the state is already "stopped".
        if machine.state == .stopped, live.isEmpty, machine.wakeUp != nil { violations.append("a time after the stop") }
    }

    /// Stops the machine, waits five seconds, and records a violation if the machine is not stopped, or if a timer, a
    /// call or a transport remains.
    mutating func finishAll() {
        stop()
        advance(by: .seconds(5))
        if machine.state != .stopped { violations.append("\(machine.state) after stop()") }
        if !live.isEmpty { violations.append("a transport after stop()") }
        if let wakeUp = machine.wakeUp { violations.append("a time after stop(): \(wakeUp)") }
        if runningRefresh != nil { violations.append("a refresh after stop()") }
        if !waiting.isEmpty { violations.append("calls never return: \(waiting)") }
        if !calls.isEmpty { violations.append("calls never end: \(calls)") }
    }
}

extension HubFailure {
    static let test = HubFailure.client(SignalRClientError(.transportClosed, "test"))
    static let callEnded = HubFailure.client(
        SignalRClientError(.callEnded, "Invocation canceled due to the underlying connection being closed.")
    )
}

extension TransportInfo {
    static let webSocket = TransportInfo(connectionID: "c", transport: .webSockets)
    static let longPolling = TransportInfo(connectionID: "c", transport: .longPolling)
    static let resumable = TransportInfo(connectionID: "c", transport: .webSockets, canBeResumed: true)

    /// The same transport with a token that expires.
    func expiring(after lifetime: Duration?) -> Self {
        var info = self
        (info.canBeRefreshed, info.tokenLifetime) = (true, lifetime)
        return info
    }
}

extension [HubStateMachine.Action] {
    /// The messages that the machine has written in JSON, in decoded form.
    var written: [HubMessage] {
        flatMap { action -> [HubMessage] in
            guard case .write(_, let bytes, _) = action else { return [] }
            var reader = HubFrameReader(.json)
            return (try? reader.messages(.json, bytes)) ?? []
        }
    }
}
