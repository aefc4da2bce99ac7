import NIOConcurrencyHelpers
import NIOCore

/// The engine that runs the brain. The engine passes inputs to the brain, and carries out the actions in order on one
/// event loop.
final class ServerEngine: Sendable {
    let eventLoop: any EventLoop
    private let options: PusherTestServer.Options
    private let unixMilliseconds: @Sendable () -> Int
    /// The sender of webhooks; nil if the engine only records them.
    private let webhooks: WebhookSender?
    /// Waits until the clients are at rest, in virtual time; nil in real time.
    let settle: (@Sendable () async -> Void)?
    let state: NIOLockedValueBox<State>
    let newRecords = ChangeSignal()

    struct State: Sendable {
        var brain: ServerBrain
        var log: RecordLog
        var queue: [ServerAction] = []
        var isDraining = false
        var links: [ConnectionID: any ServerLink] = [:]
        var responders: [RequestID: Responder] = [:]
        var timers: [TimerID: Scheduled<Void>] = [:]
        var lastRequest = 0
    }

    /// A closure that sends the answer to the client, on the event loop. ``ResponsePart`` describes the order of the
    /// parts.
    typealias Responder = @Sendable (ResponsePart) -> Void

    /// The limit for the bytes of all records' messages and requests.
    private static let maximumLogSize = 256 << 20

    init(
        options: PusherTestServer.Options,
        eventLoop: any EventLoop,
        webhooks: WebhookSender?,
        unixMilliseconds: @escaping @Sendable () -> Int,
        settle: (@Sendable () async -> Void)? = nil
    ) {
        self.eventLoop = eventLoop
        self.options = options
        self.webhooks = webhooks
        self.unixMilliseconds = unixMilliseconds
        self.settle = settle
        let prefix = options.socketIDPrefix ?? Int.random(in: 1000...999_999)
        self.state = NIOLockedValueBox(
            State(
                brain: ServerBrain(options: options, socketIDPrefix: prefix),
                log: RecordLog(limit: options.maximumRecordCount, maximumSize: Self.maximumLogSize)
            )
        )
    }

    // MARK: Inputs

    /// Passes an input to the brain. The log contains the records when the method returns. The other actions run on the
    /// event loop. If the caller is on the event loop, these actions run before the method returns, unless the engine
    /// is already carrying out actions.
    func step(_ transition: (inout ServerBrain) -> [ServerAction]) {
        step { state in transition(&state.brain) }
    }

    private func step(state transition: (inout State) -> [ServerAction]) {
        let unixMilliseconds = unixMilliseconds()
        let (hasWork, hasRecords) = state.withLockedValue { state in
            state.brain.now = max(state.brain.now, .nanoseconds(Int64(clamping: eventLoop.now.uptimeNanoseconds)))
            state.brain.unixMilliseconds = unixMilliseconds
            let actions = transition(&state)
            var hasRecords = false
            for action in actions {
                if case .record(let socketID, let event) = action {
                    state.log.append(event, socketID: socketID)
                    hasRecords = true
                } else {
                    state.queue.append(action)
                }
            }
            return (!state.queue.isEmpty && !state.isDraining, hasRecords)
        }
        if hasRecords { newRecords.send() }
        guard hasWork else { return }
        if eventLoop.inEventLoop { drain() } else { eventLoop.execute { self.drain() } }
    }

    func read<Value: Sendable>(_ body: (ServerBrain) -> Value) -> Value {
        state.withLockedValue { body($0.brain) }
    }

    /// Handles a client's request for a WebSocket. Calls `assign` with the connection's id before the brain gets the
    /// request.
    func connectionRequested(
        _ request: PusherTestServer.Request,
        link: any ServerLink,
        assign: (ConnectionID) -> Void
    ) {
        let id = state.withLockedValue { state in
            let id = state.brain.makeConnectionID()
            state.links[id] = link
            return id
        }
        assign(id)
        step { brain in brain.connectionRequested(id, request) }
    }

    func received(_ message: ClientMessage, on connection: ConnectionID) {
        step { brain in brain.received(message, on: connection) }
    }

    func connectionEnded(_ connection: ConnectionID) {
        step(state: { state in
            state.links[connection] = nil
            return state.brain.connectionEnded(connection)
        })
    }

    /// Handles an HTTP request that is not an upgrade. Calls `assign` with the request's id before the brain gets the
    /// request.
    func request(
        _ request: PusherTestServer.Request,
        assign: (RequestID) -> Void = { _ in },
        respond: @escaping Responder
    ) {
        // The initializer of `AuthorizationCall` calls closures of the test, so do not hold the lock here.
        let authorization = AuthorizationCall(request, options: options)
        let transport = TransportCall(request, options: options.httpTransports)
        let id = state.withLockedValue { state in
            state.lastRequest += 1
            let id = RequestID(rawValue: state.lastRequest)
            state.responders[id] = respond
            return id
        }
        assign(id)
        step { brain in
            if let authorization { return brain.authorizationRequest(id, authorization) }
            if let transport { return brain.transportRequest(id, transport) }
            return brain.restRequest(id, request, now: brain.unixTime)
        }
    }

    /// Counts bytes of the response's body that have probably reached the client.
    func delivered(_ count: Int, of request: RequestID) {
        step { brain in brain.delivered(count, of: request) }
    }

    /// Handles the end of a response. The client has received the whole response, or the TCP connection is closed. The
    /// brain requests no further action for the request.
    func requestEnded(_ request: RequestID) {
        step(state: { state in
            state.responders[request] = nil
            return state.brain.requestEnded(request)
        })
    }

    /// Returns the answer if the server refuses the request without reading its body; nil otherwise.
    func refusal(ofHead request: PusherTestServer.Request) -> RESTResponse? {
        let now = unixMilliseconds() / 1_000
        let transport = TransportCall(request, options: options.httpTransports)
        return read { brain in
            if let transport { brain.refusal(of: transport) } else { brain.refusal(ofHead: request, now: now) }
        }
    }

    /// Records a request that the front end has answered without the brain.
    func note(_ request: PusherTestServer.Request, answeredWith status: Int) {
        step(state: { _ in [.record(socketID: nil, .requestAnswered(request, status: status))] })
    }

    // MARK: Actions

    /// Carries out the queued actions, on the event loop only. If an action causes an input, the input only adds
    /// actions to the queue.
    private func drain() {
        guard state.withLockedValue({ $0.beginDraining() }) else { return }
        var written: [ConnectionID: any ServerLink] = [:]
        var writtenResponses: [RequestID: Responder] = [:]
        while true {
            let actions = state.withLockedValue { $0.takeQueue() }
            if actions.isEmpty { break }
            for action in actions {
                if let request = action.request {
                    run(action, of: request, &writtenResponses)
                } else {
                    run(action, &written)
                }
            }
        }
        for link in written.values { link.flush() }
        for respond in writtenResponses.values { respond(.flush) }
    }

    private func run(_ action: ServerAction, of id: RequestID, _ written: inout [RequestID: Responder]) {
        switch action {
        case .respond(_, let response):
            takeResponder(id)?(.whole(response))
        case .drop:
            takeResponder(id)?(.dropped)
        case .abandon:
            takeResponder(id)?(.abandoned)
        case .ignore:
            _ = takeResponder(id)
        case .beginResponse(_, let status, let headers):
            write(.head(RESTResponse(status: status, headers: headers, body: "")), id, &written)
        case .write(_, let bytes):
            write(.bytes(bytes), id, &written)
        case .endResponse:
            // Keep the responder, because the brain may still abandon the request.
            write(.end, id, &written)
        case .accept, .refuse, .send, .end, .schedule, .cancel, .flushSession, .webhook, .record:
            break
        }
    }

    private func write(_ part: ResponsePart, _ id: RequestID, _ written: inout [RequestID: Responder]) {
        guard let respond = state.withLockedValue({ $0.responders[id] }) else { return }
        respond(part)
        written[id] = respond
    }

    private func run(_ action: ServerAction, _ written: inout [ConnectionID: any ServerLink]) {
        switch action {
        case .accept(let id, let subprotocol): link(id)?.accept(subprotocol: subprotocol)
        case .refuse(let id, let status, let body): link(id)?.refuse(status: status, body: body)
        case .send(let id, let frame):
            guard let link = written[id] ?? link(id) else { return }
            link.send(frame)
            written[id] = link
        case .end(let id):
            written[id] = nil
            link(id)?.end()
        case .schedule(let timer, let delay):
            let scheduled = eventLoop.scheduleTask(in: TimeAmount(delay)) { self.fire(timer) }
            state.withLockedValue { $0.timers[timer] = scheduled }
        case .cancel(let timer):
            state.withLockedValue { $0.timers.removeValue(forKey: timer) }?.cancel()
        case .flushSession(let id):
            step { brain in brain.flush(id) }
        case .webhook(let body):
            webhooks?.send(body) { outcome in self.step(state: { _ in [.record(socketID: nil, outcome)] }) }
        case .respond, .beginResponse, .write, .endResponse, .drop, .abandon, .ignore, .record:
            break
        }
    }

    private func takeResponder(_ id: RequestID) -> Responder? {
        state.withLockedValue { $0.responders.removeValue(forKey: id) }
    }

    private func link(_ id: ConnectionID) -> (any ServerLink)? {
        state.withLockedValue { $0.links[id] }
    }

    private func fire(_ timer: TimerID) {
        state.withLockedValue { _ = $0.timers.removeValue(forKey: timer) }
        step { brain in brain.timerFired(timer) }
    }
}

extension ServerEngine.State {
    fileprivate mutating func beginDraining() -> Bool {
        defer { isDraining = true }
        return !isDraining
    }

    /// Removes and returns the queued actions. An empty queue ends the loop.
    fileprivate mutating func takeQueue() -> [ServerAction] {
        let actions = queue
        queue.removeAll()
        if actions.isEmpty { isDraining = false }
        return actions
    }
}
