import NIOConcurrencyHelpers
package import NIOCore
import PusherProtocol
package import RealtimeHTTP

/// A transport that combines several transports. Each attempt finds the best transport that works.
package struct TransportChooser: Transport {
    package struct Option: Sendable {
        package var kind: PusherTransport
        package var transport: any Transport

        package init(_ kind: PusherTransport, _ transport: any Transport) {
            self.kind = kind
            self.transport = transport
        }
    }

    private let options: [Option]
    fileprivate let attemptTimeout: Duration
    private let shortestLifetime: Duration
    fileprivate let memories = NIOLockedValueBox(TransportMemories())

    /// - Parameters:
    ///   - options: The transports in the order of preference.
    ///   - attemptTimeout: The time limit of an attempt.
    ///   - shortestLifetime: The minimum lifetime of a stable stream.
    package init(
        _ options: [Option],
        attemptTimeout: Duration,
        shortestLifetime: Duration = .seconds(150)
    ) {
        self.options = options
        self.attemptTimeout = attemptTimeout
        self.shortestLifetime = shortestLifetime
    }

    package func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        let connection = ChosenConnection(
            ChoosingSession(self, request, on: eventLoop, receive: receive),
            on: eventLoop
        )
        eventLoop.execute { connection.start() }
        return connection
    }

    /// Makes the transport for the options.
    ///
    /// - Parameters:
    ///   - webSocket: The transport that opens WebSockets.
    ///   - streamer: The object that makes HTTP requests.
    ///   - makeName: A closure that names a session of an HTTP transport. Each session must have a different name.
    package static func transport(
        for options: PusherClientOptions,
        webSocket: any Transport,
        streamer: any HTTPStreamer,
        makeName: @escaping @Sendable () -> HTTPSessionName = HTTPTransport.randomName
    ) -> any Transport {
        let limits = HTTPTransport.Limits(
            messageSize: options.limits.messageSize,
            sendBufferSize: options.limits.sendBufferSize
        )
        let usable = options.transports.elements.map { kind in
            switch kind {
            case .webSocket: return Option(kind, webSocket)
            case .httpStreaming, .httpPolling:
                let mode: HTTPSessionStateMachine.Mode = kind == .httpStreaming ? .streaming : .polling
                return Option(kind, HTTPTransport(mode, over: streamer, limits: limits, makeName: makeName))
            }
        }
        if usable.count == 1 { return usable[0].transport }
        // With such options, every attempt fails at the check of the options, so the client never opens this transport.
        guard !usable.isEmpty else { return webSocket }
        let timeouts = options.timeouts.clamped
        return TransportChooser(
            usable,
            attemptTimeout: timeouts.connectionAttempt,
            // If a stream is silent from the beginning, the client drops it after the activity timeout and the pong
            // timeout.
            shortestLifetime: .seconds(150) + timeouts.pong
        )
    }

    fileprivate func plan(_ server: TransportMemories.Server, now: Instant) -> TransportMemory.Plan {
        memories.withLockedValue { $0[server].plan(options.map(\.kind), now: now) }
    }

    fileprivate func transport(_ kind: PusherTransport) -> (any Transport)? {
        options.first { $0.kind == kind }?.transport
    }

    fileprivate func lost(
        _ transport: PusherTransport,
        lifetime: Duration,
        _ server: TransportMemories.Server,
        now: Instant
    ) {
        memories.withLockedValue {
            $0[server].lost(transport, lifetime: lifetime, shortest: shortestLifetime, now: now)
        }
    }
}

/// The client's memories about the transports of servers.
private struct TransportMemories: Sendable {
    struct Server: Hashable, Sendable {
        let host: String
        let port: Int
        let useTLS: Bool
        let http: HTTPTransportAddress

        init(_ request: TransportRequest) {
            (host, port, useTLS, http) = (request.host, request.port, request.useTLS, request.http)
        }
    }

    private static let limit = 16
    private var memories: [(server: Server, memory: TransportMemory)] = []

    subscript(server: Server) -> TransportMemory {
        get { memories.first { $0.server == server }?.memory ?? TransportMemory() }
        set {
            memories.removeAll { $0.server == server }
            memories.append((server, newValue))
            if memories.count > Self.limit { memories.removeFirst() }
        }
    }
}

/// A connection whose transport the client is choosing, or has chosen. Only its event loop may use the connection.
private final class ChosenConnection: TransportConnection {
    private let session: NIOLoopBoundBox<ChoosingSession>

    init(_ session: sending ChoosingSession, on eventLoop: any EventLoop) {
        self.session = .makeBoxSendingValue(session, eventLoop: eventLoop)
    }

    var report: TransportReport { session.value.report }
    var longestPause: Duration { session.value.chosen?.longestPause ?? .seconds(5) }

    func start() { session.value.start() }

    func send(_ text: String, promise: EventLoopPromise<Void>?) {
        guard let chosen = session.value.chosen else {
            promise?.fail(PusherClientError.messageNotSent)
            return
        }
        chosen.send(text, promise: promise)
    }

    func flush() { session.value.chosen?.flush() }
    func setReading(_ isReading: Bool) { session.value.chosen?.setReading(isReading) }
    func close(code: CloseCode, reason: String) { session.value.close(code: code, reason: reason) }
    func noteEstablished() { session.value.noteEstablished() }
    func noteLoss() { session.value.noteLoss() }
    func abort() { session.value.abort() }
}

/// A session that carries out the decisions of a ``TransportChoice``, on one event loop.
private final class ChoosingSession {
    /// The events of a candidate that the session keeps until it chooses a transport.
    private enum Held {
        case text([UInt8])
        case binary(ByteBuffer)
        case activity
        case readComplete
    }

    private struct Candidate {
        let kind: PusherTransport
        var connection: (any TransportConnection)?
        var held: [Held] = []
    }

    private let chooser: TransportChooser
    private let request: TransportRequest
    private let server: TransportMemories.Server
    private let eventLoop: any EventLoop
    private var choice: TransportChoice?
    private var candidates: [Int: Candidate] = [:]
    private var timers = TimerTable<TransportChoice.Timer>()
    /// The client's receiver; `nil` after the session is closed.
    private var receive: (@Sendable (TransportEvent) -> Void)?
    private var chosenNumber: Int?
    private(set) var chosen: (any TransportConnection)?
    private(set) var report = TransportReport(.webSocket)
    /// The success that the client remembers when the server has greeted it.
    private var success: TransportMemory.Success?
    private var since = Instant()
    /// Whether the client has called `close`.
    private var isClosing = false

    init(
        _ chooser: TransportChooser,
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.chooser = chooser
        self.request = request
        server = TransportMemories.Server(request)
        self.eventLoop = eventLoop
        self.receive = receive
    }

    private var now: Instant { Instant(after: .nanoseconds(Int64(clamping: eventLoop.now.uptimeNanoseconds))) }

    // MARK: Calls

    /// Remembers the transport after the greeting, because the first message may have been an error.
    func noteEstablished() {
        guard let success else { return }
        self.success = nil
        chooser.memories.withLockedValue { $0[server].connected(success, now: now) }
    }

    func noteLoss() {
        guard chosenNumber != nil, !isClosing else { return }
        chooser.lost(report.transport, lifetime: now - since, server, now: now)
    }

    func start() {
        guard receive != nil, !isClosing else { return }
        choice = TransportChoice(chooser.plan(server, now: now), attemptTimeout: chooser.attemptTimeout)
        perform(choice?.start(now: now))
    }

    func close(code: CloseCode, reason: String) {
        isClosing = true
        guard let chosen else {
            abortCandidates()
            // The session must not call the receiver within this call.
            return eventLoop.assumeIsolated().execute { [self] in end(TransportClosure(code: code)) }
        }
        chosen.close(code: code, reason: reason)
    }

    func abort() {
        receive = nil
        abortCandidates()
        chosen?.abort()
        chosen = nil
    }

    private func abortCandidates() { perform(choice?.abort()) }

    // MARK: Actions

    private func perform(_ actions: [TransportChoice.Action]?) {
        for action in actions ?? [] { run(action) }
    }

    private func run(_ action: TransportChoice.Action) {
        switch action {
        case .open(let number, let kind):
            let session = NIOLoopBound(self, eventLoop: eventLoop)
            candidates[number] = Candidate(kind: kind)
            candidates[number]?.connection = chooser.transport(kind)?.open(request, on: eventLoop) { event in
                session.value.received(event, from: number)
            }
        case .abort(let number): candidates.removeValue(forKey: number)?.connection?.abort()
        case .hold(let number): candidates[number]?.connection?.setReading(false)
        case .setTimer(let timer, let delay):
            let session = NIOLoopBound(self, eventLoop: eventLoop)
            timers.schedule(timer, after: delay, on: eventLoop) { session.value.timerFired($0) }
        case .cancelTimer(let timer): timers.cancel(timer)
        case .choose(let number, let report, let success):
            self.success = success
            choose(number, report)
        case .forget: chooser.memories.withLockedValue { $0[server].forget() }
        case .fail(let closure): end(closure)
        }
    }

    private func timerFired(_ firing: TimerTable<TransportChoice.Timer>.Firing) {
        guard timers.remove(firing) else { return }
        perform(choice?.timerFired(firing.id, now: now))
    }

    private func choose(_ number: Int, _ report: TransportReport) {
        guard let candidate = candidates.removeValue(forKey: number), let connection = candidate.connection else {
            return
        }
        (chosenNumber, chosen, self.report, since) = (number, connection, report, now)
        // Reading starts before the delivery of the events, because their effects may stop reading again.
        if !candidate.held.isEmpty { connection.setReading(true) }
        receive?(.opened)
        for event in candidate.held {
            switch event {
            case .text(let bytes): receive?(.text(bytes.span))
            case .binary(let bytes): receive?(.binary(bytes))
            case .activity: receive?(.activity)
            case .readComplete: receive?(.readComplete)
            }
        }
    }

    // MARK: Events

    private func received(_ event: TransportEvent, from number: Int) {
        guard number == chosenNumber else { return receivedBefore(event, from: number) }
        if case .closed(let closure) = event {
            chosen = nil
            return end(closure)
        }
        receive?(event)
    }

    /// Handles an event that arrives before the session has chosen a transport.
    private func receivedBefore(_ event: TransportEvent, from number: Int) {
        guard candidates[number] != nil else { return }
        switch event {
        case .opened: perform(choice?.opened(number))
        case .retryAfter: receive?(event)
        case .text, .binary:
            perform(choice?.ready(number, now: now))
            if number == chosenNumber { receive?(event) } else { holdMessage(event, from: number) }
        case .activity: hold(.activity, from: number)
        case .readComplete: hold(.readComplete, from: number)
        case .closed(let closure):
            perform(choice?.closed(number, closure, now: now))
            candidates[number] = nil
            if number == chosenNumber { received(event, from: number) }
        }
    }

    private func holdMessage(_ event: TransportEvent, from number: Int) {
        switch event {
        case .text(let bytes): candidates[number]?.held.append(.text(bytes.withUnsafeBufferPointer { Array($0) }))
        case .binary(let bytes): candidates[number]?.held.append(.binary(bytes))
        case .opened, .retryAfter, .activity, .readComplete, .closed: break
        }
    }

    /// Keeps an event until the session chooses a transport, if the candidate has already received a message.
    private func hold(_ event: Held, from number: Int) {
        if candidates[number]?.held.isEmpty == false { candidates[number]?.held.append(event) }
    }

    private func end(_ closure: TransportClosure) {
        let receive = receive
        self.receive = nil
        receive?(.closed(closure))
    }
}
