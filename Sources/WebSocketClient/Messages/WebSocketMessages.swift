import NIOConcurrencyHelpers
import NIOCore

/// The messages that a WebSocket receives, in order.
///
/// The sequence keeps its WebSocket connected: you can iterate it without keeping the WebSocket itself. Each message
/// goes to one iterator. If messages arrive faster than you consume them, the client stops reading from the socket, so
/// the server has to wait. Nothing is dropped. While the client does not read, it also sees no pings, pongs and close
/// frames.
///
/// The sequence ends when the server closes the connection with any code, when your code closes it, and when the task
/// that iterates is cancelled. It throws if the connection is lost, or if the server breaks the rules of the protocol.
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// The elements are messages.
    public typealias Element = WebSocketMessage
    /// The sequence throws errors of the client.
    public typealias Failure = WebSocketError

    let buffer: MessageBuffer
    /// An object to retain while the sequence is iterated.
    let owner: any Sendable

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer, owner: owner) }

    /// Returns one message after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let buffer: MessageBuffer
        fileprivate let owner: any Sendable

        /// Returns the next message, or `nil` at the end and if the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> WebSocketMessage? { try await buffer.next().get() }

        /// Returns the next message, or `nil` at the end and if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError)
            -> WebSocketMessage?
        { try await buffer.next().get() }
    }
}

/// Messages that have arrived and were not consumed yet.
///
/// The connection is paused while the messages exceed the limit. During the pause, messages of the same read still arrive.
/// At the end of the connection, all data that the system has buffered arrives too.
final class MessageBuffer: Sendable {
    typealias Next = Result<WebSocketMessage?, WebSocketError>

    private struct State {
        var messages = CircularBuffer<WebSocketMessage>()
        var size = 0
        var waiting: [(id: UInt64, continuation: CheckedContinuation<Next, Never>)] = []
        var serial: UInt64 = 0
        var isPaused = false
        var end: Result<Void, WebSocketError>?

        mutating func takeFirst() -> WebSocketMessage? {
            guard let message = messages.popFirst() else { return nil }
            size -= message.size
            return message
        }
    }

    private let limit: Int
    /// Empty messages take memory too.
    private let maximumCount = 4_096
    private let eventLoop: any EventLoop
    private let source = NIOLockedValueBox<WebSocketConnection?>(nil)
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - limit: In bytes.
    ///   - eventLoop: The event loop of the connections.
    init(limit: Int, on eventLoop: any EventLoop) {
        self.limit = max(limit, 1)
        self.eventLoop = eventLoop
    }

    /// Sets the connection that the buffer pauses from now on; `nil` for none. Called on the event loop.
    func pauses(_ connection: WebSocketConnection?) {
        source.withLockedValue { $0 = connection }
        if let connection, isPaused { connection.setReading(false) }
    }

    /// The value is read on the loop, because two changes could overtake each other on the way to it.
    private func pauseChanged() {
        eventLoop.execute { [self] in
            source.withLockedValue { $0 }?.setReading(!isPaused)
        }
    }

    /// Whether the socket must not be read.
    var isPaused: Bool { state.withLockedValue { $0.isPaused } }

    func append(_ message: WebSocketMessage) {
        let (waiting, mustPause): (CheckedContinuation<Next, Never>?, Bool) = state.withLockedValue { state in
            guard state.end == nil else { return (nil, false) }
            if !state.waiting.isEmpty { return (state.waiting.removeFirst().continuation, false) }
            state.messages.append(message)
            state.size += message.size
            guard !state.isPaused, state.size > limit || state.messages.count > maximumCount else {
                return (nil, false)
            }
            state.isPaused = true
            return (nil, true)
        }
        waiting?.resume(returning: .success(message))
        if mustPause { pauseChanged() }
    }

    /// Ends the sequence after the waiting messages.
    func finish(_ end: Result<Void, WebSocketError>) {
        let waiting: [CheckedContinuation<Next, Never>] = state.withLockedValue { state in
            guard state.end == nil else { return [] }
            // An error is reported once: to the first call that waits, or to the next call.
            state.end = state.waiting.isEmpty ? end : .success(())
            defer { state.waiting = [] }
            return state.waiting.map(\.continuation)
        }
        waiting.first?.resume(returning: end.map { nil })
        for continuation in waiting.dropFirst() { continuation.resume(returning: .success(nil)) }
    }

    func next() async -> Next {
        let id = state.withLockedValue { state in
            state.serial += 1
            return state.serial
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (result, mustRead): (Next?, Bool) = state.withLockedValue { state in
                    if let message = state.takeFirst() {
                        let mustRead =
                            state.isPaused && state.size <= limit / 2 && state.messages.count <= maximumCount / 2
                        if mustRead { state.isPaused = false }
                        return (.success(message), mustRead)
                    }
                    if let end = state.end {
                        state.end = .success(())
                        return (end.map { nil }, false)
                    }
                    // Checked under the lock, so that a later cancellation finds the waiter.
                    if Task.isCancelled { return (.success(nil), false) }
                    state.waiting.append((id, continuation))
                    return (nil, false)
                }
                if let result { continuation.resume(returning: result) }
                if mustRead { pauseChanged() }
            }
        } onCancel: {
            let waiting = state.withLockedValue { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
            }
            waiting?.resume(returning: .success(nil))
        }
    }
}
