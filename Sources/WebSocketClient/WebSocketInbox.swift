import NIOConcurrencyHelpers
import NIOCore
import RealtimePrimitives

/// The messages of one connection, and the tasks that wait for messages. The connection reports events on its event
/// loop.
final class WebSocketInbox: Sendable {
    private enum Stage {
        case connecting
        case open
        case closed(WebSocketClosure)
    }

    private struct State {
        var stage = Stage.connecting
        /// Whether the app has closed the connection, and so needs no more messages.
        var isClosing = false
        var closing: [CheckedContinuation<WebSocketClosure, Never>] = []
        /// The promises of the pings that wait for an answer, by payload.
        var pings: [UInt64: EventLoopPromise<Void>] = [:]
        var pingCount: UInt64 = 0
    }

    let connection: WebSocketConnection
    let buffer: MessageBuffer
    private let opened: EventLoopPromise<String?>
    private let state = NIOLockedValueBox(State())

    /// Opens a connection. Call the initializer on the event loop. The first event arrives only after the call has
    /// returned.
    init(
        limit: Int,
        on eventLoop: any EventLoop,
        opened: EventLoopPromise<String?>,
        _ open: (@escaping @Sendable (WebSocketEvent) -> Void) -> WebSocketConnection
    ) {
        self.opened = opened
        // The code must create the connection before the inbox is complete. So the connection's receiver captures a
        // box, and the code puts the inbox into the box later.
        let receiver = NIOLockedValueBox<WebSocketInbox?>(nil)
        let connection = open { event in receiver.withLockedValue { $0 }?.received(event, releasing: receiver) }
        self.connection = connection
        buffer = MessageBuffer(limit: limit, on: eventLoop)
        buffer.pauses(connection)
        receiver.withLockedValue { $0 = self }
    }

    var closure: WebSocketClosure? {
        state.withLockedValue { if case .closed(let closure) = $0.stage { closure } else { nil } }
    }

    // MARK: On the event loop

    private func received(_ event: WebSocketEvent, releasing receiver: NIOLockedValueBox<WebSocketInbox?>) {
        switch event {
        case .opened(let subprotocol):
            state.withLockedValue { $0.stage = .open }
            opened.succeed(subprotocol)
        case .text(let bytes): deliver(.text(String(utf8: bytes)))
        case .binary(let bytes): deliver(.binary(Array(bytes.readableBytesView)))
        case .pong(var payload):
            guard let number = payload.readInteger(as: UInt64.self) else { return }
            state.withLockedValue { $0.pings.removeValue(forKey: number) }?.succeed()
        case .activity, .readComplete: break
        case .closed(let closure):
            receiver.withLockedValue { $0 = nil }
            buffer.pauses(nil)
            ended(closure)
        }
    }

    private func deliver(_ message: WebSocketMessage) {
        if isClosing { return }
        buffer.append(message)
    }

    private var isClosing: Bool { state.withLockedValue { $0.isClosing } }

    private func ended(_ closure: WebSocketClosure) {
        let (closing, pings, isWanted) = state.withLockedValue { state in
            state.stage = .closed(closure)
            defer { (state.closing, state.pings) = ([], [:]) }
            return (state.closing, state.pings, state.isClosing)
        }
        let error = WebSocketError(closure)
        opened.fail(error)
        for (_, promise) in pings { promise.fail(error) }
        // If the app has closed the connection, only its `close` call gets an error, not the sequence.
        buffer.finish(isWanted ? .success(()) : closure.error.map { .failure($0) } ?? .success(()))
        for continuation in closing { continuation.resume(returning: closure) }
    }

    /// Fails the attempt if the connection is not open yet.
    func giveUp(_ error: any Error) {
        guard case .connecting = state.withLockedValue({ $0.stage }) else { return }
        connection.abort()
        opened.fail(error)
        ended(WebSocketClosure(code: nil, error: error as? WebSocketError))
    }

    /// Starts the closing handshake. To read the server's close frame, the client continues reading. The client
    /// discards the messages before the close frame.
    func close(code: WebSocketCloseCode, reason: String) {
        state.withLockedValue { $0.isClosing = true }
        buffer.pauses(nil)
        connection.close(code: code, reason: reason)
    }

    func sendPing(_ promise: EventLoopPromise<Void>) {
        // While reading is paused, the client cannot read the answer.
        if buffer.isPaused {
            let message =
                "Ping not sent: the client has paused reading, because too many messages wait. Consume them faster."
            return promise.fail(WebSocketError(.receiveBufferFull, message))
        }
        let number: UInt64? = state.withLockedValue { state in
            guard case .open = state.stage else { return nil }
            state.pingCount += 1
            state.pings[state.pingCount] = promise
            return state.pingCount
        }
        guard let number else {
            return promise.fail(WebSocketError(.connectionClosed, "Message not sent: the connection is not open."))
        }
        // If the call was cancelled, its promise must not remain in `pings`.
        promise.futureResult.whenComplete { [self] _ in
            state.withLockedValue { _ = $0.pings.removeValue(forKey: number) }
        }
        connection.sendPing(ByteBuffer(integer: number))
        connection.flush()
    }

    // MARK: On any thread

    /// Waits until the connection has ended, and returns the closure.
    func closed() async -> WebSocketClosure {
        await withCheckedContinuation { continuation in
            let closure: WebSocketClosure? = state.withLockedValue { state in
                if case .closed(let closure) = state.stage { return closure }
                state.closing.append(continuation)
                return nil
            }
            if let closure { continuation.resume(returning: closure) }
        }
    }
}
