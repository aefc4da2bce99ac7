import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol

/// The client's connection with any transport. The connection reports all events to the ledger.
final class WatchedConnection: TransportConnection {
    private struct State: Sendable {
        var inner: (any TransportConnection)?
        /// The client's callback; nil once the client gets nothing more.
        var receive: (@Sendable (TransportEvent) -> Void)?
        var isOpen = false
        var isEnded = false
        var isClosing = false
        var isInRead = false
        var isInconsistent = false
        var waitingClientEvents = 0
    }

    let client: Int
    private let eventLoop: any EventLoop
    private let observer: WireLedger
    private let state = NIOLockedValueBox(State())

    init(
        client: Int,
        observer: WireLedger,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.client = client
        self.observer = observer
        self.eventLoop = eventLoop
        state.withLockedValue { $0.receive = receive }
    }

    func start(_ inner: any TransportConnection) { state.withLockedValue { $0.inner = inner } }

    var isEnded: Bool { state.withLockedValue { $0.isEnded } }

    /// Whether the client can send and receive messages.
    var isUsable: Bool { state.withLockedValue { $0.isOpen && !$0.isEnded && !$0.isClosing } }

    /// Whether the server has sent or received false information. The client and the server then disagree, and neither
    /// side can notice.
    var isInconsistent: Bool { state.withLockedValue { $0.isInconsistent } }

    func setInconsistent() { state.withLockedValue { $0.isInconsistent = true } }

    /// The number of client events that the transport has not written yet.
    var waitingClientEvents: Int { state.withLockedValue { $0.waitingClientEvents } }

    private var inner: (any TransportConnection)? { state.withLockedValue { $0.inner } }

    // MARK: The client

    var report: TransportReport { inner?.report ?? TransportReport(.webSocket) }
    var longestPause: Duration { inner?.longestPause ?? .zero }

    func send(_ text: String, promise: EventLoopPromise<Void>?) {
        guard isUsable else {
            promise?.fail(PusherClientError(.connectionClosed, "the connection is not open"))
            return
        }
        observer.written(text, on: self)
        guard text.contains(#""event":"client-"#) else {
            inner?.send(text, promise: promise)
            return
        }
        state.withLockedValue { $0.waitingClientEvents += 1 }
        let written = eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { result in
            self.state.withLockedValue { $0.waitingClientEvents -= 1 }
            promise?.completeWith(result)
        }
        inner?.send(text, promise: written)
    }

    func flush() { inner?.flush() }
    func setReading(_ isReading: Bool) { inner?.setReading(isReading) }
    func noteEstablished() { inner?.noteEstablished() }
    func noteLoss() { inner?.noteLoss() }

    func close(code: CloseCode, reason: String) {
        state.withLockedValue { $0.isClosing = true }
        inner?.close(code: code, reason: reason)
    }

    func abort() {
        let inner = inner
        end()
        inner?.abort()
    }

    /// Closes the connection on the client's side. The callback is released outside the lock.
    private func end() {
        let old = state.withLockedValue { state in
            state.isEnded = true
            defer { (state.receive, state.inner) = (nil, nil) }
            return (state.receive, state.inner)
        }
        withExtendedLifetime(old) {}
        observer.ended(self)
    }

    // MARK: The transport

    /// Records a message that leaves the client's machine.
    func sent(_ text: String) { observer.sent(text, on: self) }

    func received(_ event: TransportEvent) {
        let receive = state.withLockedValue { $0.receive }
        switch event {
        case .opened:
            state.withLockedValue { $0.isOpen = true }
            receive?(.opened)
        case .text(let bytes):
            if beginsRead() { observer.readBegan(on: self) }
            observer.willReceive(bytes.withUnsafeBufferPointer { Array($0) }, on: self)
            receive?(.text(bytes))
        case .readComplete:
            state.withLockedValue { $0.isInRead = false }
            receive?(.readComplete)
            if !isEnded { observer.readCompleted(on: self) }
        case .closed(let closure):
            if let code = closure.code { observer.closed(code.rawValue, on: self) }
            end()
            receive?(.closed(closure))
        case .binary(let bytes): receive?(.binary(bytes))
        case .activity: receive?(.activity)
        case .retryAfter: receive?(event)
        }
    }

    private func beginsRead() -> Bool {
        state.withLockedValue { state in
            defer { state.isInRead = true }
            return !state.isInRead
        }
    }
}
