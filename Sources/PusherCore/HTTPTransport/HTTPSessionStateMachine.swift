package import PusherProtocol

/// A session of the protocol over HTTP: consecutive requests that bring messages, and requests that send them.
///
/// It does not see received messages. The reader of the responses reports how much was read, and which other frames
/// there were.
package struct HTTPSessionStateMachine: Hashable, Sendable {
    package enum Mode: Hashable, Sendable {
        /// A response stays open. When it has become long, another one takes over.
        case streaming
        /// A response ends after a batch of messages, and another request asks for more.
        case polling
    }

    package enum State: Hashable, Sendable {
        /// The server has not said that the session is open.
        case opening
        case open
        /// Messages that were sent before ``close(code:now:)`` are sent first.
        case closing(CloseCode)
        case closed
    }

    package enum Action: Hashable, Sendable {
        /// Send a receiving request. Events of its response carry this number.
        case receive(Int, HTTPTarget)
        /// Stop or start reading that response from the socket.
        case setReading(Int, Bool)
        /// End a receiving request. None of its events are reported afterwards.
        case cancel(Int)
        /// Send a request with messages. There is only one at a time.
        case send(HTTPTarget, body: String, messageCount: Int)
        /// The server has received the messages of the current request.
        case sent
        /// End the request with messages, if there is one. None of its events are reported afterwards.
        case cancelSend
        case setTimer(Timer, after: Duration)
        case cancelTimer(Timer)
        case report(Report)
    }

    package enum Timer: Hashable, Sendable, CaseIterable {
        /// Another poll may be sent.
        case poll
        /// The server has had enough time to end the response that is being replaced.
        case handover
        /// The server should have answered the request with messages by now.
        case send
    }

    package enum Report: Hashable, Sendable {
        case opened
        /// The server is alive.
        case activity
        /// The end. Nothing follows it, and unsent messages are lost.
        case closed(TransportClosure)
    }

    private struct Response: Hashable, Sendable {
        let number: Int
        let since: Instant
        var status: Int?
        var size = 0
        /// Whether it brought messages.
        var hasNews = false
    }

    /// In bytes. Servers that know the protocol stop there, so that nothing is under way when the client asks.
    package static let usualStreamLength = 256 * 1_024
    /// A server that holds no poll must not be asked again and again.
    static let shortestPoll = Duration.seconds(1)
    /// A pause for servers that answer each answer.
    static let shortestHeartbeat = Duration.seconds(1)
    /// Longer than it takes to send a lost packet again, because a response that is ended too early loses its frames.
    /// If the successor has brought nothing meanwhile, the wait costs nothing.
    static let handoverTime = Duration.seconds(10)
    /// Heartbeats show that the server is alive, but not that it accepts messages.
    package static let sendTimeout = Duration.seconds(30)
    /// Further messages wait for the next request.
    static let longestBody = 64 * 1_024

    package let mode: Mode
    package private(set) var state = State.opening
    private let place: HTTPPlace
    private let name: HTTPSessionName
    private let sendBufferSize: Int
    private let streamLength: Int
    private var hostname: String?
    private var requestCount = 0

    private var current: Response?
    /// The response that takes over when the current one has ended.
    private var successor: Response?
    private var isReading = true
    /// Whether the next poll waits until the client reads again.
    private var isPollDue = false
    /// Whether the last frame is complete.
    private var isAtFrameEnd = true
    /// The size of the current response when the timer was set.
    private var sizeAtHandover = 0

    private var waiting: [String] = []
    private var waitingSize = 0
    private var isSending = false
    private var owesHeartbeat = false
    private var lastHeartbeat: Instant?

    /// - Parameters:
    ///   - sendBufferSize: The most bytes that may wait to be sent.
    ///   - streamLength: After how many bytes of a stream another response takes over.
    package init(
        _ mode: Mode,
        at place: HTTPPlace,
        _ name: HTTPSessionName,
        sendBufferSize: Int,
        streamLength: Int = Self.usualStreamLength
    ) {
        self.mode = mode
        self.place = place
        self.name = name
        self.sendBufferSize = sendBufferSize
        self.streamLength = streamLength
    }

    /// The response whose frames are handled. Frames of another one wait.
    package var currentResponse: Int? { current?.number }

    /// Whether messages can be sent and received.
    package var isOpen: Bool { state == .open }

    package var isClosed: Bool { state == .closed }

    package mutating func start(now: Instant) -> [Action] { receive(now: now) }

    // MARK: Responses

    package mutating func answered(_ number: Int, status: Int, now: Instant) -> [Action] {
        if current?.number == number {
            current?.status = status
            return status == 200 ? [.report(.activity)] : interrupted(status: status)
        }
        guard successor?.number == number else { return [] }
        guard status == 200 else {
            // The current response shows the state of the session.
            return dropSuccessor()
        }
        successor?.status = status
        sizeAtHandover = current?.size ?? 0
        return [.setTimer(.handover, after: Self.handoverTime)]
    }

    /// Handles that all frames in a piece of the current response were read.
    ///
    /// - Parameters:
    ///   - size: The size of the piece, in bytes.
    ///   - hasMessages: Whether it contained a message.
    ///   - isAtFrameEnd: Whether it ended with a frame.
    package mutating func handled(
        size: Int,
        hasMessages: Bool,
        isAtFrameEnd: Bool,
        of number: Int,
        now: Instant
    ) -> [Action] {
        guard current?.number == number, !isClosed else { return [] }
        self.isAtFrameEnd = isAtFrameEnd
        current?.size += size
        if hasMessages { current?.hasNews = true }
        // Servers stop at the end of a frame, and send a frame again that was not read completely.
        guard mode == .streaming, state == .open, successor == nil, isAtFrameEnd, let current,
            current.size > streamLength
        else { return [] }
        let (response, target) = makeRequest(now: now)
        successor = response
        return [.receive(response.number, target)]
    }

    /// Handles a complete response whose frames were all read.
    package mutating func ended(_ number: Int, now: Instant) -> [Action] {
        guard let current, current.number == number, !isClosed else { return [] }
        guard isAtFrameEnd else { return lose(.cutFrame) }
        if successor != nil { return takeOver() }
        switch mode {
        case .streaming: return interrupted(status: current.status ?? 0)
        case .polling: return poll(after: current, now: now)
        }
    }

    /// The response that is to take over has begun with something else than a refusal. The rest of it waits for its turn.
    package mutating func acceptedHandover(_ number: Int) -> [Action] {
        successor?.number == number ? [.setReading(number, false)] : []
    }

    /// The server has said in the response that was to take over that it keeps the current one.
    package mutating func refusedHandover(_ number: Int) -> [Action] {
        guard successor?.number == number else { return [] }
        return dropSuccessor()
    }

    package mutating func failed(_ number: Int, _ error: PusherClientError) -> [Action] {
        // The successor had no data yet, so nothing is lost.
        if successor?.number == number, successor?.status == nil { return dropSuccessor() }
        guard current?.number == number || successor?.number == number else { return [] }
        return lose(error)
    }

    private mutating func receive(now: Instant) -> [Action] {
        let (response, target) = makeRequest(now: now)
        current = response
        isPollDue = false
        return [.receive(response.number, target)]
    }

    private mutating func makeRequest(now: Instant) -> (Response, HTTPTarget) {
        let target = target(mode == .streaming ? "xhr_streaming" : "xhr", query: place.query, now: now)
        return (Response(number: requestCount, since: now), target)
    }

    private mutating func target(_ verb: String, query: String?, now: Instant) -> HTTPTarget {
        requestCount += 1
        let milliseconds = (now - Instant()) / .milliseconds(1)
        let stamp = "t=\(Int(milliseconds))&n=\(requestCount)"
        let path = "\(place.path)/\(name)/\(verb)?\(query.map { "\($0)&" } ?? "")\(stamp)"
        return HTTPTarget(hostname: hostname, path: path)
    }

    private mutating func poll(after response: Response, now: Instant) -> [Action] {
        let pause = response.hasNews ? .zero : response.since + Self.shortestPoll - now
        current = nil
        if pause > .zero { return [.setTimer(.poll, after: pause)] }
        return pollWhileReading(now: now)
    }

    private mutating func pollWhileReading(now: Instant) -> [Action] {
        isPollDue = !isReading
        return isReading ? receive(now: now) : []
    }

    private mutating func takeOver() -> [Action] {
        current = successor
        successor = nil
        var actions = [Action.cancelTimer(.handover)]
        if let current { actions.append(.setReading(current.number, isReading)) }
        return actions
    }

    /// Keeps the current response, and tries again after as many bytes.
    private mutating func dropSuccessor() -> [Action] {
        guard let number = successor?.number else { return [] }
        successor = nil
        current?.size = 0
        return [.cancelTimer(.handover), .cancel(number)]
    }

    // MARK: Frames

    package mutating func opened(hostname: String?, now: Instant) -> [Action] {
        guard state == .opening else { return isClosed ? [] : lose(.lostSession) }
        state = .open
        self.hostname = hostname
        current?.hasNews = true
        return [.report(.opened)]
    }

    package mutating func heartbeat(wantsAnswer: Bool, now: Instant) -> [Action] {
        guard wantsAnswer, mode == .streaming, state == .open else { return [] }
        if let lastHeartbeat, now - lastHeartbeat < Self.shortestHeartbeat { return [] }
        lastHeartbeat = now
        owesHeartbeat = true
        return flush(now: now)
    }

    package mutating func closedByServer(_ code: CloseCode, reason: String) -> [Action] {
        finish(TransportClosure(code: code, reason: reason))
    }

    /// Handles a frame that cannot be read.
    package mutating func violated(_ violation: HTTPFrameViolation) -> [Action] {
        lose(PusherClientError(violation))
    }

    /// Handles a message before the session was open.
    package mutating func violatedOrder() -> [Action] { lose(.messageBeforeOpening) }

    // MARK: Sending

    /// Queues a message for the next ``flush(now:)``. It is lost if the session is not open.
    package mutating func send(_ message: String) -> [Action] {
        guard isOpen else { return [] }
        waiting.append(message)
        waitingSize += message.utf8.count
        guard waitingSize > sendBufferSize else { return [] }
        return lose(.sendBufferFull(limit: sendBufferSize))
    }

    package mutating func flush(now: Instant) -> [Action] {
        switch state {
        case .opening, .closed: return []
        case .open, .closing: break
        }
        guard !isSending, !waiting.isEmpty || owesHeartbeat else { return [] }
        isSending = true
        owesHeartbeat = false
        var writer = JSONWriter()
        var count = 0
        writer.write(raw: "[")
        for message in waiting {
            guard count == 0 || writer.text.utf8.count + message.utf8.count <= Self.longestBody else { break }
            if count > 0 { writer.write(raw: ",") }
            writer.write(string: message)
            waitingSize -= message.utf8.count
            count += 1
        }
        writer.write(raw: "]")
        waiting.removeFirst(count)
        let target = target("xhr_send", query: nil, now: now)
        return [.setTimer(.send, after: Self.sendTimeout), .send(target, body: writer.text, messageCount: count)]
    }

    package mutating func sendAnswered(status: Int, now: Instant) -> [Action] {
        guard isSending, !isClosed else { return [] }
        guard status == 200 || status == 204 else { return lose(.sendRefused(status: status)) }
        isSending = false
        let next = flush(now: now)
        if next.isEmpty, case .closing(let code) = state { return [.sent] + finish(TransportClosure(code: code)) }
        return [.cancelTimer(.send), .sent] + next
    }

    package mutating func sendFailed(_ error: PusherClientError) -> [Action] { isClosed ? [] : lose(error) }

    // MARK: Calls

    package mutating func setReading(_ isReading: Bool, now: Instant) -> [Action] {
        guard !isClosed, isReading != self.isReading else { return [] }
        self.isReading = isReading
        if isReading, isPollDue { return receive(now: now) }
        return current.map { [.setReading($0.number, isReading)] } ?? []
    }

    /// Ends the session after everything was sent.
    package mutating func close(code: CloseCode, now: Instant) -> [Action] {
        guard state == .open else { return isClosed ? [] : finish(TransportClosure(code: code)) }
        state = .closing(code)
        owesHeartbeat = false
        let actions = flush(now: now)
        return isSending ? actions : finish(TransportClosure(code: code))
    }

    /// Ends the session at once.
    package mutating func abort() -> [Action] { end() }

    package mutating func timerFired(_ timer: Timer, now: Instant) -> [Action] {
        switch timer {
        case .send: return isSending ? lose(.sendTimedOut(Self.sendTimeout)) : []
        case .poll:
            guard current == nil, !isClosed else { return [] }
            return pollWhileReading(now: now)
        case .handover:
            guard let current, successor != nil else { return [] }
            guard isReading, current.size == sizeAtHandover else {
                sizeAtHandover = current.size
                return [.setTimer(.handover, after: Self.handoverTime)]
            }
            guard isAtFrameEnd else { return lose(.cutFrame) }
            return [.cancel(current.number)] + takeOver()
        }
    }

    // MARK: The end

    private mutating func interrupted(status: Int) -> [Action] {
        lose(state == .opening ? .notOpened(status: status) : .interrupted(status: status))
    }

    private mutating func lose(_ error: PusherClientError) -> [Action] {
        finish(TransportClosure(code: nil, error: error))
    }

    private mutating func finish(_ closure: TransportClosure) -> [Action] {
        guard !isClosed else { return [] }
        return end() + [.report(.closed(closure))]
    }

    private mutating func end() -> [Action] {
        guard !isClosed else { return [] }
        state = .closed
        var actions: [Action] = []
        for response in [current, successor] {
            if let response { actions.append(.cancel(response.number)) }
        }
        if isSending { actions.append(.cancelSend) }
        actions += Timer.allCases.map { .cancelTimer($0) }
        (current, successor, isSending, waiting, waitingSize) = (nil, nil, false, [], 0)
        return actions
    }
}
