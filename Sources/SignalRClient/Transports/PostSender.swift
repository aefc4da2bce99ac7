import NIOConcurrencyHelpers
import NIOCore
import SignalRCore

/// Sends the client's messages in requests, one request at a time. A request contains all messages that the client
/// queued during the last request.
final class PostSender: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var promises: [EventLoopPromise<Void>] = []
        var task: Task<Void, Never>?
        /// The failure that ended the sender. Later messages fail for the same reason.
        var end: HubFailure?
        /// The tasks that wait until all messages are sent.
        var flushing: [CheckedContinuation<Void, Never>] = []
    }

    /// The maximum number of waiting bytes. WebSockets have the same limit.
    private static let maximumSize = 16 << 20

    private let http: HubHTTP
    private let url: String
    private let isBinary: Bool
    private let failed: @Sendable (HubFailure) -> Void
    private let state = NIOLockedValueBox(State())

    /// - Parameter failed: A closure that the sender calls once if a request fails, or if too many bytes wait.
    ///   Afterwards, the sender sends nothing.
    init(_ http: HubHTTP, _ url: String, isBinary: Bool, failed: @escaping @Sendable (HubFailure) -> Void) {
        self.http = http
        self.url = url
        self.isBinary = isBinary
        self.failed = failed
    }

    func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?) {
        let (failure, isOverflow): (HubFailure?, Bool) = state.withLockedValue { state in
            if let end = state.end { return (end, false) }
            if !state.bytes.isEmpty, state.bytes.count + bytes.count > Self.maximumSize {
                let message = "Send buffer full: more than \(Self.maximumSize) bytes wait for the server."
                return (.client(SignalRClientError(.transportClosed, message)), true)
            }
            state.bytes += bytes
            if let promise { state.promises.append(promise) }
            if state.task == nil { state.task = Task { await run() } }
            return (nil, false)
        }
        guard let failure else { return }
        promise?.fail(failure)
        if isOverflow { end(failure, reports: true) }
    }

    /// Waits until the sender has sent all earlier messages or has failed.
    func flush() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLockedValue { state in
                if state.task != nil { state.flushing.append(continuation) }
                return state.task == nil
            }
            if isDone { continuation.resume() }
        }
    }

    /// Fails waiting and later messages.
    func abort(_ failure: HubFailure? = nil) {
        let closed = HubFailure.client(
            SignalRClientError(.transportClosed, "Message not sent: the connection was closed.")
        )
        end(failure ?? closed, reports: false)
    }

    private func run() async {
        while let (bytes, promises) = take() {
            do {
                let response = try await http.send(.POST, url, body: (bytes, isBinary))
                guard (200..<300).contains(response.status) else {
                    throw SignalRError.unexpectedResponseCode(response.status)
                }
                for promise in promises { promise.succeed() }
            } catch {
                // If the request was cancelled, the transport has ended. The code reports the error that ended the
                // transport, because this error is more useful than the cancellation.
                let failure = state.withLockedValue { $0.end } ?? .lost(error)
                for promise in promises { promise.fail(failure) }
                end(failure, reports: true)
            }
        }
    }

    private func take() -> (bytes: [UInt8], promises: [EventLoopPromise<Void>])? {
        let (next, flushing) = state.withLockedValue { state in
            guard state.bytes.isEmpty else {
                defer { (state.bytes, state.promises) = ([], []) }
                return (
                    (bytes: state.bytes, promises: state.promises)
                        as (bytes: [UInt8], promises: [EventLoopPromise<Void>])?, [CheckedContinuation<Void, Never>]()
                )
            }
            state.task = nil
            defer { state.flushing = [] }
            return (nil, state.flushing)
        }
        for continuation in flushing { continuation.resume() }
        return next
    }

    private func end(_ failure: HubFailure, reports: Bool) {
        let (promises, task, isFirst) = state.withLockedValue { state in
            let isFirst = state.end == nil
            state.end = state.end ?? failure
            defer { (state.bytes, state.promises) = ([], []) }
            return (state.promises, state.task, isFirst)
        }
        for promise in promises { promise.fail(failure) }
        if !reports { task?.cancel() }
        if isFirst, reports { failed(failure) }
    }
}
