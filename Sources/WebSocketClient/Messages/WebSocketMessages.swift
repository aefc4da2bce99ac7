import NIOConcurrencyHelpers
import NIOCore
import RealtimePrimitives

/// The messages that a WebSocket receives, in order.
///
/// The sequence keeps its WebSocket open, so your code can iterate without a reference to the WebSocket. If there are
/// several iterators, only one of them gets each message. If messages arrive faster than you consume them, the client
/// stops reading from the socket. The server then has to wait, and nothing is dropped. While the client does not read,
/// it gets no pings, pongs and close frames.
///
/// The sequence ends when the server closes the connection with any code, when your code closes it, and when the
/// iterating task is cancelled. The sequence throws if the connection is lost, or if the server breaks the rules of the
/// protocol. The sequence of a ``ReconnectingWebSocket`` continues after a loss. See
/// ``ReconnectingWebSocket/messages``.
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// The elements are messages.
    public typealias Element = WebSocketMessage
    /// The error of the sequence.
    public typealias Failure = WebSocketError

    let buffer: MessageBuffer
    /// An object that the sequence and its iterators keep alive.
    let owner: any Sendable

    /// Creates an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer, owner: owner) }

    /// An iterator over the messages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let buffer: MessageBuffer
        fileprivate let owner: any Sendable

        /// Returns the next message, or `nil` when the sequence has ended or the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> WebSocketMessage? { try await buffer.next().get() }

        /// Returns the next message, or `nil` when the sequence has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError)
            -> WebSocketMessage?
        { try await buffer.next().get() }
    }
}

/// A buffer for the received messages that the app has not consumed.
///
/// The buffer pauses the connection while the messages exceed the limit. After the pause begins, the remaining messages
/// of the current read of the socket still arrive. When the connection ends, all data that the system has buffered
/// arrives too.
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
    /// The maximum number of messages. Empty messages take memory too, but have no bytes, so the buffer also limits the
    /// number of messages.
    private let maximumCount = 4_096
    private let eventLoop: any EventLoop
    private let source = NIOLockedValueBox<WebSocketConnection?>(nil)
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - limit: The maximum number of bytes before the buffer pauses the connection.
    ///   - eventLoop: The event loop of the connections.
    init(limit: Int, on eventLoop: any EventLoop) {
        self.limit = max(limit, 1)
        self.eventLoop = eventLoop
    }

    /// Sets the connection that the buffer pauses; `nil` for no connection. Call the method on the event loop.
    func pauses(_ connection: WebSocketConnection?) {
        source.withLockedValue { $0 = connection }
        if let connection, isPaused { connection.setReading(false) }
    }

    /// Pauses or resumes reading, on the event loop. Two calls can reach the loop in the wrong order, so the loop reads
    /// the current value.
    private func pauseChanged() {
        eventLoop.execute { [self] in
            source.withLockedValue { $0 }?.setReading(!isPaused)
        }
    }

    /// Whether the connection must not read from the socket.
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

    /// Ends the sequence after the messages in the buffer.
    func finish(_ end: Result<Void, WebSocketError>) {
        let waiting: [CheckedContinuation<Next, Never>] = state.withLockedValue { state in
            guard state.end == nil else { return [] }
            // The buffer throws an error only once, from the first waiting call or from the next call.
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
        return await withCancellationHandler {
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
                    // The code checks for a cancellation while it holds the lock, so a later cancellation finds the
                    // waiting call.
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
