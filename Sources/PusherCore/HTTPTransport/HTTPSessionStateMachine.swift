package import PusherProtocol
import RealtimeJSON

/// A session of the protocol over HTTP. Consecutive receiving requests bring messages, and other requests send them.
///
/// The machine does not see received messages. The reader of the responses keeps the frames with messages. The reader
/// reports the number of bytes that arrived, and passes all other frames to the machine.
package struct HTTPSessionStateMachine: Hashable, Sendable {
    package enum Mode: Hashable, Sendable {
        /// A response stays open. When a response has become long, a new response replaces it.
        case streaming
        /// A response ends after a batch of messages, and the client sends another request.
        case polling
    }

    package enum State: Hashable, Sendable {
        /// The server has not sent the frame that opens the session.
        case opening
        case open
        /// The machine first sends the messages that were queued before ``close(code:now:)``.
        case closing(CloseCode)
        case closed
    }

    package enum Action: Hashable, Sendable {
        /// Send a receiving request. The number identifies the events of the request's response.
        case receive(Int, HTTPTarget)
        /// Stop or start reading this response from the socket.
        case setReading(Int, Bool)
        /// Cancel a receiving request. The shell reports no more events of the request.
        case cancel(Int)
        /// Send a request that contains messages. There is only one such request at a time.
        case send(HTTPTarget, body: String, messageCount: Int)
        /// The server has received the messages of the current request.
        case sent
        /// Cancel the request that sends messages, if there is one. The shell reports no more events of the request.
        case cancelSend
        case setTimer(Timer, after: Duration)
        case cancelTimer(Timer)
        case report(Report)
    }

    package enum Timer: Hashable, Sendable, CaseIterable {
        /// The pause before the next poll is over.
        case poll
        /// The time limit for the end of the replaced response is over.
        case handover
        /// The time limit for the answer to the request that sends messages is over.
        case send
    }

    package enum Report: Hashable, Sendable {
        case opened
        /// The session is closed. The machine reports nothing afterwards, and unsent messages are lost.
        case closed(TransportClosure)
    }

    /// The steps of a handover. A message of the current response leads back to the first step.
    private enum Handover: Hashable, Sendable {
        /// The machine waits for the rest of the current response.
        case waiting
        /// No message has arrived for ``handoverTime``. The answer to a request shows that the network works again.
        case probing(isSent: Bool)
        /// The machine waits for data that the network has lost before.
        case finishing
    }

    private struct Response: Hashable, Sendable {
        let number: Int
        let since: Instant
        var status: Int?
        /// The size in bytes since the beginning, or since the last successor was dropped.
        var size = 0
        /// Whether the response has exceeded the size at which a new response replaces it.
        var isLong = false
        /// Whether the response has brought messages, or the frame that opens the session.
        var hasNews = false
    }

    /// The size in bytes at which a new response replaces the current response. Servers that support the transport stop
    /// writing at this size, or at this length in UTF-16 units, which is never reached earlier.
    package static let usualStreamLength = 256 * 1_024
    /// The shortest time between two polls if the server does not hold polls.
    static let shortestPoll = Duration.seconds(1)
    /// The shortest time between two answers to heartbeats. Some servers send another heartbeat after each answer.
    static let shortestHeartbeat = Duration.seconds(1)
    /// The minimum time without a message before each step of a handover. If the client cancels a response too early,
    /// frames are lost. TCP doubles the time before it sends a lost packet again, so the last step takes at least as
    /// long as the steps before it. The wait delays only messages that have already arrived in the successor.
    static let handoverTime = Duration.seconds(10)
    /// The time limit for the answer to a request that sends messages. Heartbeats show that the server is alive, but
    /// not that it accepts messages.
    package static let sendTimeout = Duration.seconds(30)
    /// The largest body of a request with several messages, in bytes. The escapes in the last message do not count.
    /// Further messages wait for the next request. The client sends a larger message alone.
    static let longestBody = 64 * 1_024

    package let mode: Mode
    package private(set) var state = State.opening
    private let address: HTTPTransportAddress
    private let name: HTTPSessionName
    private let sendBufferSize: Int
    private let streamLength: Int
    private var hostname: String?
    private var requestCount = 0

    private var current: Response?
    /// The response that replaces the current response at the handover.
    private var successor: Response?
    private var isReading = true
    /// Whether the next receiving request waits until the client reads again.
    private var isRequestDue = false
    /// Whether the last frame is complete.
    private var isAtFrameEnd = true
    /// Whether the current response has brought a message, or a part of one, since the handover timer was set.
    private var bringsMessages = false
    /// The step of the handover; nil if there is no successor with the status 200.
    private var handover: Handover?
    /// The time since which the current response has brought no message.
    private var handoverSince = Instant()

    private var waiting: [String] = []
    private var waitingSize = 0
    /// The size of the queue before the messages that the client has queued since the last flush.
    private var backlog: Int?
    /// The size of the queue after the last burst. A flush is a burst if its ``backlog`` is within the limit.
    private var burst = 0
    private var isSending = false
    private var owesHeartbeat = false
    private var lastHeartbeat: Instant?

    /// - Parameters:
    ///   - sendBufferSize: The maximum number of bytes of unsent messages, apart from one burst: see ``flush(now:)``.
    ///   - streamLength: The size in bytes at which a new response replaces the current response.
    package init(
        _ mode: Mode,
        at address: HTTPTransportAddress,
        _ name: HTTPSessionName,
        sendBufferSize: Int,
        streamLength: Int = Self.usualStreamLength
    ) {
        self.mode = mode
        self.address = address
        self.name = name
        self.sendBufferSize = sendBufferSize
        self.streamLength = streamLength
    }

    /// The response whose frames the reader handles. Frames of another response wait.
    package var currentResponse: Int? { current?.number }

    /// Whether messages can be sent and received.
    package var isOpen: Bool { state == .open }

    package var isClosed: Bool { state == .closed }

    package mutating func start(now: Instant) -> [Action] { receive(now: now) }

    // MARK: Responses

    package mutating func answered(_ number: Int, status: Int, now: Instant) -> [Action] {
        if current?.number == number {
            current?.status = status
            return status == 200 ? [] : interrupted(status: status)
        }
        guard successor?.number == number else { return [] }
        guard status == 200 else {
            // Only the current response shows whether the session is still open.
            return dropSuccessor()
        }
        successor?.status = status
        return setHandoverTimer(now: now)
    }

    /// Handles a piece of the current response after the reader has read all frames of the piece.
    ///
    /// - Parameters:
    ///   - size: The size of the piece, in bytes.
    ///   - hasMessages: Whether the piece contained a message.
    ///   - isAtFrameEnd: Whether the piece ended with a frame.
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
        if hasMessages || !isAtFrameEnd { bringsMessages = true }
        // Servers send an incomplete frame again in the successor, so the machine requests a successor only between
        // frames.
        guard mode == .streaming, state == .open, successor == nil, isAtFrameEnd, let size = current?.size,
            size > streamLength
        else { return [] }
        current?.isLong = true
        let (response, target) = makeRequest(now: now)
        successor = response
        return [.receive(response.number, target)]
    }

    /// Handles the end of a response after the reader has read all its frames.
    package mutating func ended(_ number: Int, now: Instant) -> [Action] {
        guard let current, current.number == number, !isClosed else { return [] }
        guard isAtFrameEnd else { return lose(.cutFrame, isInterruption: true) }
        if successor != nil { return takeOver() }
        switch mode {
        case .streaming where current.isLong && current.status == 200 && state == .open:
            // The client has dropped the successor, for which the server waited.
            self.current = nil
            return receiveWhileReading(now: now)
        case .streaming: return interrupted(status: current.status ?? 0)
        case .polling: return poll(after: current, now: now)
        }
    }

    /// Handles a successor that the server accepted. The client stops reading it until the handover.
    package mutating func acceptedHandover(_ number: Int) -> [Action] {
        successor?.number == number ? [.setReading(number, false)] : []
    }

    /// Handles a successor whose response is a refusal. The server continues with the current response.
    package mutating func refusedHandover(_ number: Int) -> [Action] {
        guard successor?.number == number else { return [] }
        return dropSuccessor()
    }

    package mutating func failed(_ number: Int, _ error: PusherClientError) -> [Action] {
        // The successor had no data yet, so nothing is lost.
        if successor?.number == number, successor?.status == nil { return dropSuccessor() }
        guard current?.number == number || successor?.number == number else { return [] }
        return lose(error, isInterruption: true)
    }

    private mutating func receive(now: Instant) -> [Action] {
        let (response, target) = makeRequest(now: now)
        current = response
        isRequestDue = false
        return [.receive(response.number, target)]
    }

    private mutating func makeRequest(now: Instant) -> (Response, HTTPTarget) {
        let target = target(mode == .streaming ? "xhr_streaming" : "xhr", query: address.query, now: now)
        return (Response(number: requestCount, since: now), target)
    }

    private mutating func target(_ verb: String, query: String?, now: Instant) -> HTTPTarget {
        requestCount += 1
        let milliseconds = (now - Instant()) / .milliseconds(1)
        let stamp = "t=\(Int(milliseconds))&n=\(requestCount)"
        let path = "\(address.path)/\(name)/\(verb)?\(query.map { "\($0)&" } ?? "")\(stamp)"
        return HTTPTarget(hostname: hostname, path: path)
    }

    private mutating func poll(after response: Response, now: Instant) -> [Action] {
        let pause = response.hasNews ? .zero : response.since + Self.shortestPoll - now
        current = nil
        if pause > .zero { return [.setTimer(.poll, after: pause)] }
        return receiveWhileReading(now: now)
    }

    private mutating func receiveWhileReading(now: Instant) -> [Action] {
        isRequestDue = !isReading
        return isReading ? receive(now: now) : []
    }

    private mutating func setHandoverTimer(now: Instant) -> [Action] {
        (bringsMessages, handover, handoverSince) = (false, .waiting, now)
        return [.setTimer(.handover, after: Self.handoverTime)]
    }

    private mutating func takeOver() -> [Action] {
        current = successor
        (successor, handover) = (nil, nil)
        var actions = [Action.cancelTimer(.handover)]
        if let current { actions.append(.setReading(current.number, isReading)) }
        return actions
    }

    /// Drops the successor. When the current response has grown by ``streamLength`` again, or has ended, the machine
    /// requests another successor.
    private mutating func dropSuccessor() -> [Action] {
        guard let number = successor?.number else { return [] }
        (successor, handover) = (nil, nil)
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
        return sendNext(now: now)
    }

    package mutating func closedByServer(_ code: CloseCode, reason: String) -> [Action] {
        finish(TransportClosure(code: code, reason: reason))
    }

    /// Handles a frame that the reader cannot read.
    package mutating func violated(_ violation: HTTPFrameViolation) -> [Action] {
        lose(PusherClientError(violation))
    }

    /// Handles a message that arrives before the session is open.
    package mutating func violatedOrder() -> [Action] { lose(.messageBeforeOpening) }

    // MARK: Sending

    /// Queues a message for the next ``flush(now:)``. The message is lost if the session is not open.
    package mutating func send(_ message: String) {
        guard isOpen else { return }
        backlog = backlog ?? waitingSize
        waiting.append(message)
        waitingSize += message.utf8.count
    }

    /// Sends the queued messages, unless a request is under way.
    ///
    /// The method closes the session if the server does not accept requests, because unsent messages would fill the
    /// memory. One large burst of messages can exceed the limit even if the server accepts requests. So if the queue is
    /// already above the limit, the machine counts only the bytes above the level after the last burst.
    package mutating func flush(now: Instant) -> [Action] {
        if let backlog {
            self.backlog = nil
            if backlog <= sendBufferSize {
                burst = waitingSize
            } else if waitingSize - burst > sendBufferSize {
                return lose(.sendBufferFull(limit: sendBufferSize))
            }
        }
        return sendNext(now: now)
    }

    private mutating func sendNext(now: Instant) -> [Action] {
        switch state {
        case .opening, .closed: return []
        case .open, .closing: break
        }
        guard !isSending, !waiting.isEmpty || owesHeartbeat else { return [] }
        isSending = true
        owesHeartbeat = false
        if handover == .probing(isSent: false) { handover = .probing(isSent: true) }
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
        let isProbe = handover == .probing(isSent: true)
        let next = sendNext(now: now)
        if next.isEmpty, case .closing(let code) = state { return [.sent] + finish(TransportClosure(code: code)) }
        var actions = [Action.cancelTimer(.send), .sent] + next
        if isProbe {
            handover = .finishing
            actions.append(.setTimer(.handover, after: max(now - handoverSince, Self.handoverTime)))
        }
        return actions
    }

    package mutating func sendFailed(_ error: PusherClientError) -> [Action] { isClosed ? [] : lose(error) }

    // MARK: Calls

    package mutating func setReading(_ isReading: Bool, now: Instant) -> [Action] {
        guard !isClosed, isReading != self.isReading else { return [] }
        self.isReading = isReading
        if isReading, isRequestDue { return receive(now: now) }
        return current.map { [.setReading($0.number, isReading)] } ?? []
    }

    /// Closes the session after the client has sent all messages.
    package mutating func close(code: CloseCode, now: Instant) -> [Action] {
        guard state == .open else { return isClosed ? [] : finish(TransportClosure(code: code)) }
        state = .closing(code)
        owesHeartbeat = false
        let actions = sendNext(now: now)
        return isSending ? actions : finish(TransportClosure(code: code))
    }

    /// Closes the session at once.
    package mutating func abort() -> [Action] { end() }

    package mutating func timerFired(_ timer: Timer, now: Instant) -> [Action] {
        switch timer {
        case .send: return isSending ? lose(.sendTimedOut(Self.sendTimeout)) : []
        case .poll:
            guard current == nil, !isClosed else { return [] }
            return receiveWhileReading(now: now)
        case .handover:
            guard let current, let handover else { return [] }
            guard isReading, !bringsMessages else { return setHandoverTimer(now: now) }
            switch handover {
            case .waiting where isOpen:
                self.handover = .probing(isSent: false)
                owesHeartbeat = true
                return sendNext(now: now)
            case .waiting, .probing: return []
            case .finishing:
                guard isAtFrameEnd else { return lose(.cutFrame, isInterruption: true) }
                return [.cancel(current.number)] + takeOver()
            }
        }
    }

    // MARK: Closing

    private mutating func interrupted(status: Int) -> [Action] {
        if state == .opening { return lose(.notOpened(status: status)) }
        return lose(.interrupted(status: status), isInterruption: status == 200)
    }

    private mutating func lose(_ error: PusherClientError, isInterruption: Bool = false) -> [Action] {
        finish(TransportClosure(code: nil, error: error, isInterruption: isInterruption))
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
        (current, successor, handover, isSending, waiting, waitingSize) = (nil, nil, nil, false, [], 0)
        return actions
    }
}
