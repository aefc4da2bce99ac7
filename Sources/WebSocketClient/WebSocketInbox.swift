import NIOConcurrencyHelpers
import NIOCore
import RealtimeNetworking
import RealtimePrimitives

/// The messages of one connection, and the tasks that wait for messages. The connection reports events on its event
/// loop.
final class WebSocketInbox: Sendable {
    private enum Stage: Sendable {
        case connecting
        case open
        case closed(WebSocketClosure)

        var closure: WebSocketClosure? { if case .closed(let closure) = self { closure } else { nil } }
    }

    private struct State {
        /// Whether the app has closed the connection, and so needs no more messages.
        var isClosing = false
        /// The promises of the pings that wait for an answer, by payload.
        var pings: [UInt64: EventLoopPromise<Void>] = [:]
        var pingCount: UInt64 = 0
    }

    let connection: WebSocketConnection
    let buffer: MessageBuffer
    private let opened: EventLoopPromise<String?>
    private let stage = ObservableState(Stage.connecting)
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

    var closure: WebSocketClosure? { stage.value.closure }

    // MARK: On the event loop

    private func received(_ event: WebSocketEvent, releasing receiver: NIOLockedValueBox<WebSocketInbox?>) {
        switch event {
        case .opened(let subprotocol):
            stage.change(to: .open, isFinal: false)
            opened.succeed(subprotocol)
        case .text(let bytes): deliver(.text(String(utf8: bytes)))
        case .binary(let bytes): deliver(.binary(Array(bytes.readableBytesView)))
        case .pong(var payload):
            guard let number = payload.readInteger(as: UInt64.self) else { return }
            state.withLockedValue { $0.pings.removeValue(forKey: number) }?.succeed()
        case .refused, .activity, .readComplete: break
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
        stage.change(to: .closed(closure), isFinal: true)
        let (pings, isWanted) = state.withLockedValue { state in
            defer { state.pings = [:] }
            return (state.pings, state.isClosing)
        }
        let error = WebSocketError(closure)
        opened.fail(error)
        for (_, promise) in pings { promise.fail(error) }
        // If the app has closed the connection, only its `closed` call gets an error, not the sequence.
        buffer.finish(isWanted ? .success(()) : closure.error.map { .failure($0) } ?? .success(()))
    }

    /// Fails the attempt if the connection is not open yet.
    func giveUp(_ error: any Error) {
        guard case .connecting = stage.value else { return }
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
            guard case .open = stage.value else { return nil }
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
    func closed(within timeout: Duration?, on eventLoop: any EventLoop) async throws -> WebSocketClosure {
        let closure = try await stage.first(within: timeout, on: eventLoop) { $0.closure }
        guard let closure else { throw WebSocketError.waitTimedOut("the server did not answer", timeout) }
        return closure
    }
}
