import NIOConcurrencyHelpers
import NIOCore
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives
import SignalRCore

/// A transport that polls. The server answers a poll when it has messages.
final class LongPollingTransport: HubTransport {
    private struct State {
        var polling: Task<Void, Never>?
        var isEnded = false
    }

    /// The minimum timeout of a poll. By default, a server without messages answers a poll after 90 seconds.
    private static let minimumTimeout: TimeInterval = 120
    private static let closeTimeout: TimeInterval = 5
    /// The number of polls without an answer after which the connection is lost. A server answers a poll before its
    /// timeout, so one missing answer can be the loss of a TCP connection, and two in a row are the server's silence.
    private static let maximumUnanswered = 2

    private let http: HubHTTP
    private let url: String
    private let timeout: TimeInterval
    private let eventLoop: any EventLoop
    private let receive: OpenedTransport.Receiver
    private let sender: PostSender
    /// The time limits of the polls, by the numbers of the polls. The timeout of a request stops while the computer is
    /// suspended, and the server may have dropped the connection meanwhile.
    private let timers: ClockedTimers<UInt64>
    private let state = NIOLockedValueBox(State())

    private init(
        _ http: HubHTTP,
        _ url: String,
        timeout: TimeInterval,
        isBinary: Bool,
        on eventLoop: any EventLoop,
        now: @escaping @Sendable () -> Duration,
        receive: @escaping OpenedTransport.Receiver
    ) {
        self.http = http
        self.url = url
        self.timeout = timeout
        self.eventLoop = eventLoop
        self.receive = receive
        timers = ClockedTimers(on: eventLoop, now: now)
        let failed = FailureRelay()
        sender = PostSender(http, url, isBinary: isBinary) { failure in failed.report(failure) }
        failed.set { [weak self] failure in self?.end(failure) }
    }

    /// - Parameter now: The clock, which continues while the computer is suspended; `nil` for the computer's clock.
    static func open(
        _ http: HubHTTP,
        _ url: String,
        timeout: TimeInterval?,
        isBinary: Bool,
        on eventLoop: any EventLoop,
        now: (@Sendable () -> Duration)? = nil,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> LongPollingTransport {
        let origin = ContinuousClock.now
        let transport = LongPollingTransport(
            http,
            url,
            timeout: max(timeout ?? 0, minimumTimeout),
            isBinary: isBinary,
            on: eventLoop,
            now: now ?? { ContinuousClock.now - origin },
            receive: receive
        )
        // The server answers the first poll at once, so the answer shows whether the transport works.
        let response: HubResponse
        do {
            response = try await transport.poll(1)
        } catch SignalRError.httpTimeoutError {
            throw SignalRClientError(unanswered: "Poll", by: HTTPRequest.printable(url: url))
        }
        guard response.status == 200 else {
            throw SignalRClientError(
                refused: "Poll",
                by: HTTPRequest.printable(url: url),
                status: response.status,
                retryAfter: response.retryAfter
            )
        }
        transport.report(response.body)
        transport.state.withLockedValue { state in state.polling = Task { await transport.run() } }
        return transport
    }

    private func poll(_ number: UInt64) async throws -> HubResponse {
        let poll = Task { [http, url, timeout] in
            try await http.send(.GET, ConnectionURL.poll(url, number: number), timeout: timeout)
        }
        eventLoop.execute { [timers, timeout] in
            timers.set(number, after: Duration(clampingSeconds: timeout)) { poll.cancel() }
        }
        defer { eventLoop.execute { [timers] in timers.cancel(number) } }
        do {
            return try await withCancellationHandler {
                try await poll.value
            } onCancel: {
                poll.cancel()
            }
        } catch  where poll.isCancelled && !Task.isCancelled {
            throw SignalRError.httpTimeoutError
        }
    }

    private func run() async {
        var number: UInt64 = 1
        /// The number of polls without an answer since the last answer.
        var unanswered = 0
        while !Task.isCancelled {
            number += 1
            do {
                let response = try await poll(number)
                unanswered = 0
                switch response.status {
                case 200: report(response.body)
                case 204: return end(nil)
                default: return end(.lost(SignalRError.unexpectedResponseCode(response.status)))
                }
            } catch let error as CancellationError {
                return end(HubFailure(error))
            } catch {
                guard error.isTimeout else { return end(.lost(error)) }
                unanswered += 1
                if unanswered == Self.maximumUnanswered { return end(silence(error)) }
            }
        }
    }

    private func silence(_ error: any Error) -> HubFailure {
        let time = Duration(clampingSeconds: timeout).inWords
        let message =
            "Connection lost: the server did not answer \(Self.maximumUnanswered) polls in a row, for \(time) each."
        return .client(SignalRClientError(.transportClosed, message, cause: error))
    }

    private func report(_ bytes: [UInt8]) {
        if bytes.isEmpty { return }
        eventLoop.execute { [self] in
            if !state.withLockedValue({ $0.isEnded }) { receive(.bytes(bytes)) }
        }
    }

    /// Reports the end, unless the transport has already reported it or was aborted.
    private func end(_ failure: HubFailure?) {
        eventLoop.execute { [self] in
            guard takeEnd() else { return }
            sender.abort(failure)
            receive(.closed(failure))
        }
    }

    /// Records the end. Returns `false` if the transport had already ended.
    private func takeEnd() -> Bool {
        let (isFirst, polling) = state.withLockedValue { state in
            defer { state.isEnded = true }
            return (!state.isEnded, state.polling)
        }
        polling?.cancel()
        return isFirst
    }

    func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?) { sender.send(bytes, promise: promise) }

    func close() {
        Task { [self] in
            await sender.flush()
            state.withLockedValue { $0.polling }?.cancel()
            await delete()
            end(nil)
        }
    }

    func abort() {
        guard takeEnd() else { return }
        sender.abort()
        // Without this request, the server would keep the connection until its own timeout for polls.
        Task { [self] in await delete() }
    }

    /// Deletes the connection on the server. The method ignores errors, because the server also drops the connection
    /// after its own timeout.
    private func delete() async { _ = try? await http.send(.DELETE, url, timeout: Self.closeTimeout) }
}

extension Error {
    /// Whether a request timed out.
    fileprivate var isTimeout: Bool {
        if let error = self as? SignalRError { return error == .httpTimeoutError }
        return false
    }
}
