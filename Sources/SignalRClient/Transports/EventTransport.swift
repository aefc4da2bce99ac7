import NIOCore
import RealtimeHTTP
import RealtimePrimitives
import ServerSentEvents
import SignalRCore

/// A transport that receives the server's messages as server-sent events, and sends the client's messages in requests.
final class EventTransport: HubTransport {
    private struct State {
        var parser: EventStreamParser
        var stream: (any HTTPStream)?
        /// The promise that the task waits for while it opens the transport; `nil` after the transport is open or has
        /// failed.
        var opened: EventLoopPromise<Void>?
        var isEnded = false
    }

    /// The URL for errors, without secrets.
    private let address: String
    /// The maximum size of an event, in bytes.
    private let limit: Int
    private let sender: PostSender
    private let receive: OpenedTransport.Receiver
    private let eventLoop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    private init(
        _ sender: PostSender,
        address: String,
        limit: Int,
        opened: EventLoopPromise<Void>,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) {
        self.sender = sender
        self.address = address
        self.limit = limit
        self.receive = receive
        self.eventLoop = eventLoop
        let state = State(parser: EventStreamParser(limit: limit), opened: opened)
        self.state = .makeBoxSendingValue(state, eventLoop: eventLoop)
    }

    static func open(
        _ http: HubHTTP,
        _ url: String,
        streamer: any HTTPStreamer,
        limit: Int,
        timeout: TimeInterval?,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> EventTransport {
        let failed = FailureRelay()
        let sender = PostSender(http, url, isBinary: false) { failure in failed.report(failure) }
        let opened = eventLoop.makePromise(of: Void.self)
        let transport = EventTransport(
            sender,
            address: HTTPRequest.printable(url: url),
            limit: limit,
            opened: opened,
            on: eventLoop,
            receive: receive
        )
        failed.set { [weak transport] failure in
            eventLoop.execute { transport?.end(failure) }
        }
        var headers = http.headers(for: url)
        headers["Accept"] = "text/event-stream"
        let request = HTTPRequest(
            url: http.url(url),
            headers: HTTPFields(headers),
            timeout: .seconds(HTTPRequest.maximumTimeout),
            maximumResponseSize: .max
        )
        eventLoop.execute { transport.start(request, streamer) }
        let time = TimeAmount(clamping: Duration(clampingSeconds: timeout ?? 100))
        let timer = eventLoop.scheduleTask(in: time) { transport.timeOut() }
        defer { timer.cancel() }
        try await withCancellationHandler {
            try await opened.futureResult.get()
        } onCancel: {
            eventLoop.execute { transport.end(.cancelled) }
        }
        return transport
    }

    // MARK: On the event loop

    private func start(_ request: HTTPRequest, _ streamer: any HTTPStreamer) {
        if state.value.isEnded { return }
        // A hub redirects only negotiations, so the client does not follow redirects of this request.
        let redirects = HTTPStreamRedirects(maximum: 0, leavesTLS: false)
        state.value.stream = streamer.stream(request, redirects: redirects, on: eventLoop) { [weak self] event in
            self?.received(event)
        }
    }

    private func timeOut() {
        // The opening task may be about to continue with the open transport.
        guard state.value.opened != nil else { return }
        end(.client(SignalRClientError(unanswered: "Event stream", by: address)))
    }

    private func received(_ event: HTTPStreamEvent) {
        switch event {
        case .head(let response):
            guard response.status == 200 else {
                let refusal = SignalRClientError(
                    refused: "Event stream",
                    by: address,
                    status: response.status,
                    retryAfter: response.retryAfter
                )
                return end(.client(refusal))
            }
            if let compression = response.compression {
                return end(.client(SignalRClientError(compression: compression, of: address, response)))
            }
            state.value.opened?.succeed()
            state.value.opened = nil
        case .body(let bytes): read(bytes)
        case .end:
            let message = "Connection to \(address) lost: the server ended the event stream."
            end(.client(SignalRClientError(.transportClosed, message, address: address)))
        case .failed(let error):
            let place = error.url.map { HTTPRequest.printable(url: $0) } ?? address
            let isOpen = state.value.opened == nil
            let message = "Connection to \(place) \(isOpen ? "lost" : "failed"): \(error.message)."
            let code = isOpen ? .transportClosed : error.code
            end(.client(SignalRClientError(code, message, address: place, cause: error)))
        }
    }

    private func read(_ bytes: ByteBuffer) {
        var frames: [UInt8] = []
        do throws(EventStreamParser.TooLarge) {
            // A closure that reads from the buffer in place cannot throw a typed error, so the code reads a copy.
            var rest = Array(bytes.readableBytesView)[...]
            while !rest.isEmpty {
                let (count, element) = try Self.read(rest, &state.value.parser)
                rest = rest.dropFirst(count)
                if case .event(let event) = element { frames += event.data.utf8 }
            }
        } catch {
            return end(.client(.deliveryTooLarge(limit: limit)))
        }
        if !frames.isEmpty { receive(.bytes(frames)) }
    }

    private static func read(
        _ bytes: ArraySlice<UInt8>,
        _ parser: inout EventStreamParser
    ) throws(EventStreamParser.TooLarge) -> (count: Int, element: EventStreamParser.Element?) {
        let result: Result<(count: Int, element: EventStreamParser.Element?), EventStreamParser.TooLarge> =
            bytes.withUnsafeBytes { buffer in
                do throws(EventStreamParser.TooLarge) {
                    return .success(try parser.read(buffer))
                } catch {
                    return .failure(error)
                }
            }
        return try result.get()
    }

    /// Reports the end to the receiver, or to the task that is opening the transport.
    private func end(_ failure: HubFailure?) {
        let opened = state.value.opened
        guard takeEnd(failure) else { return }
        if let opened {
            opened.fail((failure ?? .signalR(.eventSourceFailedToConnect)).error)
        } else {
            receive(.closed(failure))
        }
    }

    /// Records the end. Returns `false` if the transport had already ended.
    private func takeEnd(_ failure: HubFailure?) -> Bool {
        if state.value.isEnded { return false }
        state.value.isEnded = true
        state.value.opened = nil
        state.value.stream?.cancel()
        state.value.stream = nil
        sender.abort(failure)
        return true
    }

    // MARK: HubTransport

    func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?) { sender.send(bytes, promise: promise) }

    func close() {
        Task { [self] in
            await sender.flush()
            eventLoop.execute { [self] in end(nil) }
        }
    }

    func abort() { _ = takeEnd(nil) }
}
