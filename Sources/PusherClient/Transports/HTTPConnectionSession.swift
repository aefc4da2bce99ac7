import NIOCore
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking

/// A session that carries out the decisions of the ``HTTPSessionStateMachine``, on one event loop.
final class HTTPConnectionSession {
    private typealias Machine = HTTPSessionStateMachine

    /// A response that may not have arrived yet.
    private struct Response {
        var stream: (any HTTPStream)?
        /// The pieces that wait until the response becomes the current response.
        var pieces = CircularBuffer<ByteBuffer>()
        var end: Result<Void, PusherClientError>?
        /// Whether the response replaces the previous response when the previous response has ended.
        var isAccepted = false
    }

    private var machine: HTTPSessionStateMachine
    private var reader: HTTPFrameReader
    private let request: TransportRequest
    private let streamer: any HTTPStreamer
    private let limits: HTTPTransport.Limits
    private let eventLoop: any EventLoop
    /// The client's receiver; `nil` after the session is closed.
    private var receive: (@Sendable (TransportEvent) -> Void)?
    private var responses: [Int: Response] = [:]
    private var isHandling = false

    private var sending: (any HTTPStream)?
    private var sendStatus = 0
    /// The promises of waiting messages, in their order.
    private var waiting: [EventLoopPromise<Void>?] = []
    /// The promises of the messages in the current request.
    private var underWay: [EventLoopPromise<Void>?] = []
    private var timers = TimerTable<HTTPSessionStateMachine.Timer>()

    init(
        _ machine: HTTPSessionStateMachine,
        _ request: TransportRequest,
        _ streamer: any HTTPStreamer,
        _ limits: HTTPTransport.Limits,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.machine = machine
        self.request = request
        self.streamer = streamer
        self.limits = limits
        self.eventLoop = eventLoop
        self.receive = receive
        reader = HTTPFrameReader(maximumMessageSize: limits.messageSize)
    }

    private var now: Instant { Instant(after: .nanoseconds(Int64(clamping: eventLoop.now.uptimeNanoseconds))) }

    // MARK: Calls

    func start() {
        if machine.state == .opening { perform(machine.start(now: now)) }
    }

    func send(_ text: String, promise: EventLoopPromise<Void>?) {
        guard machine.isOpen else {
            promise?.fail(PusherClientError.messageNotSent)
            return
        }
        waiting.append(promise)
        machine.send(text)
    }

    func flush() { perform(machine.flush(now: now)) }

    func setReading(_ isReading: Bool) { perform(machine.setReading(isReading, now: now)) }

    func close(code: CloseCode) {
        // The session must not call the receiver within this call.
        eventLoop.assumeIsolated().execute { [self] in perform(machine.close(code: code, now: now)) }
    }

    func abort() {
        receive = nil
        perform(machine.abort())
        failPromises(nil)
    }

    // MARK: Actions of the machine

    private func perform(_ actions: [HTTPSessionStateMachine.Action]) {
        for action in actions { run(action) }
    }

    private func run(_ action: HTTPSessionStateMachine.Action) {
        switch action {
        case .receive(let number, let target):
            // An earlier action may have closed the session.
            guard !machine.isClosed else { return }
            let session = NIOLoopBound(self, eventLoop: eventLoop)
            responses[number] = Response()
            // If the request for a successor fails, the current response continues.
            let isSuccessor = machine.currentResponse != number
            responses[number]?.stream = stream(target, body: [], sharesConnection: isSuccessor) { event in
                session.value.received(event, of: number)
            }
        case .setReading(let number, let isReading): responses[number]?.stream?.setReading(isReading)
        case .cancel(let number): responses.removeValue(forKey: number)?.stream?.cancel()
        case .send(let target, let body, let count):
            guard !machine.isClosed else { return }
            underWay = Array(waiting.prefix(count))
            waiting.removeFirst(count)
            let session = NIOLoopBound(self, eventLoop: eventLoop)
            sending = stream(target, body: Array(body.utf8)) { session.value.receivedAnswer($0) }
        case .sent:
            let promises = underWay
            underWay = []
            sending = nil
            for promise in promises { promise?.succeed() }
        case .cancelSend:
            sending?.cancel()
            sending = nil
        case .setTimer(let timer, let delay):
            let session = NIOLoopBound(self, eventLoop: eventLoop)
            timers.schedule(timer, after: delay, on: eventLoop) { session.value.timerFired($0) }
        case .cancelTimer(let timer): timers.cancel(timer)
        case .report(.opened): receive?(.opened)
        case .report(.closed(let closure)):
            let receive = receive
            self.receive = nil
            receive?(.closed(closure))
            failPromises(closure.error)
        }
    }

    private func timerFired(_ firing: TimerTable<HTTPSessionStateMachine.Timer>.Firing) {
        guard timers.remove(firing) else { return }
        perform(machine.timerFired(firing.id, now: now))
        handleResponses()
    }

    private func failPromises(_ error: PusherClientError?) {
        let (unanswered, unsent) = (underWay, waiting)
        (underWay, waiting) = ([], [])
        for promise in unanswered { promise?.fail(UnansweredMessage(error)) }
        for promise in unsent { promise?.fail(error ?? .messageNotSent) }
    }

    private func stream(
        _ target: HTTPTarget,
        body: [UInt8],
        sharesConnection: Bool = false,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        var headers = HTTPFields()
        for header in request.headers { headers.append(header.name, header.value) }
        if let hostname = target.hostname, hostname != request.http.host {
            // The app's header fields may be secret. If the server names another host, that host does not get them.
            headers = headers.leavingOrigin()
        }
        headers.setIfMissing("Content-Type", "application/json")
        let host = HostName.withBrackets(target.hostname ?? request.http.host)
        var message = HTTPRequest(
            url: "\(request.useTLS ? "https" : "http")://\(host):\(request.http.port)\(target.path)",
            method: "POST",
            headers: headers,
            body: body,
            timeout: .seconds(HTTPRequest.maximumTimeout),
            maximumResponseSize: .max
        )
        message.sharesConnection = sharesConnection
        let redirects = HTTPStreamRedirects(maximum: 0, leavesTLS: false)
        return streamer.stream(message, redirects: redirects, on: eventLoop, receive: receive)
    }

    // MARK: Receiving

    private func received(_ event: HTTPStreamEvent, of number: Int) {
        guard responses[number] != nil else { return }
        switch event {
        case .head(let response): perform(machine.answered(number, status: response.status, now: now))
        case .body(let bytes): responses[number]?.pieces.append(bytes)
        case .end: responses[number]?.end = .success(())
        case .failed(let error):
            responses[number]?.end = .failure(PusherClientError(error, isOpen: machine.state != .opening))
        }
        handleResponses()
    }

    /// Handles the data of the current response, then the data of the next response.
    private func handleResponses() {
        // While this method handles a frame, the receiver may close the session, and `received` may call this method
        // again.
        guard !isHandling else { return }
        isHandling = true
        defer { isHandling = false }
        while let number = machine.currentResponse, let response = responses[number] {
            if let piece = responses[number]?.pieces.popFirst() {
                handle(piece, of: number)
            } else if let end = response.end {
                responses[number] = nil
                switch end {
                case .success: perform(machine.ended(number, now: now))
                case .failure(let error): perform(machine.failed(number, error))
                }
            } else {
                break
            }
        }
        for (number, response) in responses where number != machine.currentResponse {
            if !response.isAccepted { judge(response, number) }
            if case .failure(let error)? = response.end { perform(machine.failed(number, error)) }
        }
    }

    /// Decides whether a response replaces the previous response. The session reads until the decision, because a
    /// refusal after the prelude would otherwise stay unread in the socket.
    private func judge(_ response: Response, _ number: Int) {
        switch Self.takesOver(response) {
        case nil: break
        case false?: perform(machine.refusedHandover(number))
        case true?:
            responses[number]?.isAccepted = true
            perform(machine.acceptedHandover(number))
        }
    }

    /// Returns `false` if a response is empty, or says that another response of the session is still open. Returns
    /// `nil` if the session needs more data.
    private static func takesOver(_ response: Response) -> Bool? {
        let limit = 4_096
        var reader = HTTPFrameReader(maximumMessageSize: limit)
        var (takesOver, size) = (Bool?.none, 0)
        for piece in response.pieces where takesOver == nil {
            size += piece.readableBytes
            do throws(HTTPFrameViolation) {
                _ = try reader.read(piece.readableBytesUInt8Span) { frame in
                    switch frame {
                    case .close(let code, _): takesOver = code != .otherConnectionOpen
                    case .heartbeat: break
                    case .message, .open: takesOver = true
                    }
                    return takesOver == nil
                }
            } catch {
                // The session reports the violation when the response becomes the current response.
                takesOver = true
            }
        }
        if let takesOver { return takesOver }
        guard size <= limit else { return true }
        guard case .success? = response.end else { return nil }
        return size > 0
    }

    private func handle(_ piece: ByteBuffer, of number: Int) {
        var hasMessages = false
        do throws(HTTPFrameViolation) {
            _ = try reader.read(piece.readableBytesUInt8Span) { frame in
                switch frame {
                case .message(let bytes):
                    guard machine.state != .opening else {
                        perform(machine.violatedOrder())
                        break
                    }
                    hasMessages = true
                    // After `close`, the client gets no more messages.
                    if machine.isOpen { receive?(.text(bytes)) }
                case .open(let hostname?) where !HostName.isValid(hostname):
                    perform(machine.violated(.malformed("o")))
                case .open(let hostname): perform(machine.opened(hostname: hostname, now: now))
                case .heartbeat(let wantsAnswer): perform(machine.heartbeat(wantsAnswer: wantsAnswer, now: now))
                case .close(let code, let reason): perform(machine.closedByServer(code, reason: reason))
                }
                return !machine.isClosed
            }
        } catch {
            perform(machine.violated(error))
        }
        reader.releaseMemory()
        let isAtFrameEnd = reader.isAtFrameEnd
        perform(
            machine.handled(
                size: piece.readableBytes,
                hasMessages: hasMessages,
                isAtFrameEnd: isAtFrameEnd,
                of: number,
                now: now
            )
        )
        if !hasMessages { receive?(.activity) }
        receive?(.readComplete)
    }

    // MARK: Requests that send messages

    private func receivedAnswer(_ event: HTTPStreamEvent) {
        guard sending != nil else { return }
        switch event {
        case .head(let response): sendStatus = response.status
        case .body: break
        case .end: perform(machine.sendAnswered(status: sendStatus, now: now))
        case .failed(let error):
            // The client has sent no part of the request, so it may send the messages again.
            if error.isUnsent { (waiting, underWay) = (underWay + waiting, []) }
            perform(machine.sendFailed(PusherClientError(error, isOpen: true)))
        }
    }
}

extension PusherClientError {
    /// - Parameter isOpen: Whether the connection was open before the error.
    fileprivate init(_ error: HTTPRequestError, isOpen: Bool) {
        let message = "\(isOpen ? "Connection over HTTP lost" : "Connection over HTTP failed"): \(error.message)."
        let code: Code =
            switch error.kind {
            case .failed where error.cause is TLSFailure: .tlsFailed
            case .failed where isOpen: .connectionClosed
            case .redirectRefused where !isOpen: .upgradeFailed
            case .invalidRequest: .invalidOption
            case .pinMismatch: .pinMismatch
            case .failed, .timedOut, .redirectRefused, .shutDown: isOpen ? .connectionClosed : .connectionFailed
            }
        self.init(code, message, cause: error.cause)
    }
}
