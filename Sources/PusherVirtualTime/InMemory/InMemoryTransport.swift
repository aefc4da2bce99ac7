import NIOConcurrencyHelpers
package import NIOCore
package import PusherClient
import PusherProtocol
package import PusherTestServer

/// A transport that connects to the embedded server's in-memory front end.
package struct InMemoryTransport: Transport {
    private let server: InMemoryServer

    package init(server: InMemoryServer) { self.server = server }

    package func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        let headers = request.headers.map { HTTPHeader(name: $0.name, value: $0.value) }
        let offered = request.subprotocol.map {
            HTTPHeader(name: "Sec-WebSocket-Protocol", value: $0)
        }
        let connection = InMemoryConnection(on: eventLoop, receive: receive)
        connection.link.withLockedValue { link in
            link = server.open(
                .init(target: request.path, headers: HTTPHeaderFields(headers + (offered.map { [$0] } ?? []))),
                on: eventLoop
            ) { connection.received($0) }
        }
        return connection
    }
}

final class InMemoryConnection: TransportConnection {
    let link = NIOLockedValueBox<InMemoryLink?>(nil)
    private let receive: @Sendable (TransportEvent) -> Void
    private let isEnded = NIOLockedValueBox(false)
    private let eventLoop: any EventLoop
    private let isInRead = NIOLockedValueBox(false)
    private struct Unread {
        var isReading = true
        var events = CircularBuffer<InMemoryLink.Event>()

        mutating func next() -> InMemoryLink.Event? { isReading ? events.popFirst() : nil }
    }

    /// The events that wait because the client does not read.
    private let unread = NIOLockedValueBox(Unread())

    init(on eventLoop: any EventLoop, receive: @escaping @Sendable (TransportEvent) -> Void) {
        self.eventLoop = eventLoop
        self.receive = receive
    }

    func send(_ text: String, promise: EventLoopPromise<Void>?) {
        guard let current else {
            promise?.fail(PusherClientError(.connectionClosed, "the link has ended"))
            return
        }
        current.send(text)
        promise?.succeed()
    }

    func flush() {}
    func close(code: CloseCode, reason: String) {
        setReading(true)
        current?.close(code: code.rawValue, reason: reason)
    }

    func abort() {
        isEnded.withLockedValue { $0 = true }
        current?.abort()
        // The connection and the link retain each other, so the connection must release the link.
        link.withLockedValue { $0 = nil }
    }

    private var current: InMemoryLink? { link.withLockedValue { $0 } }

    func setReading(_ isReading: Bool) {
        let hasUnread = unread.withLockedValue { unread in
            unread.isReading = isReading
            return !unread.events.isEmpty
        }
        if isReading, hasUnread { eventLoop.execute { self.read() } }
    }

    func received(_ event: InMemoryLink.Event) {
        unread.withLockedValue { $0.events.append(event) }
        read()
    }

    private func read() {
        while let event = unread.withLockedValue({ $0.next() }) { handle(event) }
    }

    private func handle(_ event: InMemoryLink.Event) {
        switch event {
        case .opened: deliver(.opened)
        case .text(let text): deliver(.text(ByteBuffer(string: text).readableBytesUInt8Span))
        case .binary(let bytes): deliver(.binary(ByteBuffer(bytes: bytes)))
        case .ping(let payload):
            current?.sendPong(payload)
            deliver(.activity)
        case .pong: deliver(.activity)
        case .rawBytes:
            current?.abort()
            end(TransportClosure(code: nil, error: .init(.protocolViolation, "no WebSocket frame")))
        case .unreachable:
            end(TransportClosure(code: nil, error: .init(.connectionFailed, "nobody listens")))
        case .refused(let status):
            end(TransportClosure(code: nil, error: .init(.upgradeFailed, "the upgrade was answered with \(status)")))
        case .closed(let code, let reason):
            end(TransportClosure(code: CloseCode(rawValue: code ?? 1005), reason: reason))
        case .dropped:
            end(TransportClosure(code: nil))
        }
    }

    private func end(_ closure: TransportClosure) {
        deliver(.closed(closure))
        isEnded.withLockedValue { $0 = true }
        link.withLockedValue { $0 = nil }
    }

    private func deliver(_ event: TransportEvent) {
        guard !isEnded.withLockedValue({ $0 }) else { return }
        receive(event)
        guard case .text = event else { return }
        // All events that wait on the loop arrive in one read, as on a socket.
        let isFirst = isInRead.withLockedValue { isInRead in
            defer { isInRead = true }
            return !isInRead
        }
        guard isFirst else { return }
        eventLoop.execute {
            self.isInRead.withLockedValue { $0 = false }
            if !self.isEnded.withLockedValue({ $0 }) { self.receive(.readComplete) }
        }
    }
}
