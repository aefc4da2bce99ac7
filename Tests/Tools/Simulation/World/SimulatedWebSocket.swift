import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol
import PusherTestServer
import TestSupport
import WebSocketClient

/// A WebSocket between client and server. The network may delay, split, join or lose the bytes. The client's own frame
/// reader reads the arriving bytes.
final class SimulatedWebSocket: TransportConnection, SimulatedLink {
    private enum Item: Sendable {
        case opened
        case bytes([UInt8])
        case ended(TransportClosure)
    }

    private struct State: Sendable {
        var link: InMemoryLink?
        /// Bytes in transit to the client, with their times of arrival.
        var arriving: [(due: NIODeadline, item: Item)] = []
        var lastArrival = NIODeadline.uptimeNanoseconds(0)
        var lastDeparture = NIODeadline.uptimeNanoseconds(0)
        var reader = WebSocketFrameReader(maximumMessageSize: 1 << 20)
        var isOpen = false
        var isReading = true
        /// The client's callback; nil once the client gets nothing more.
        var receive: (@Sendable (TransportEvent) -> Void)?
        var isEnded = false
        var isClosing = false
        /// The messages that the client has written, and the operating system has not taken.
        var writes: [(text: String, promise: EventLoopPromise<Void>?)] = []
        var losesToClient = false
        var losesToServer = false

        mutating func nextOutput() -> Result<WebSocketFrameReader.Output?, WebSocketViolation> {
            do throws(WebSocketViolation) { return .success(try reader.next()) } catch { return .failure(error) }
        }
    }

    let client: Int
    private let network: SimulatedNetwork
    private weak let connection: WatchedConnection?
    private let state = NIOLockedValueBox(State())

    /// - Parameter connection: The client's connection for this WebSocket.
    init(
        client: Int,
        network: SimulatedNetwork,
        connection: WatchedConnection?,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.client = client
        self.network = network
        self.connection = connection
        state.withLockedValue { $0.receive = receive }
    }

    func setReading(_ isReading: Bool) {
        state.withLockedValue { $0.isReading = isReading }
        if isReading { loop.execute(isClient: true) { self.read() } }
    }

    private func receive(_ event: TransportEvent) { state.withLockedValue { $0.receive }?(event) }

    /// Closes the WebSocket on the client's side. The callback is released outside the lock.
    private func end() {
        _ = state.withLockedValue { state in
            state.isEnded = true
            defer { state.receive = nil }
            return state.receive
        }
        for (_, promise) in takeWrites() {
            promise?.fail(PusherClientError(.connectionClosed, "the connection has ended"))
        }
    }

    /// Reports the close to the server, unless the network loses the report. Releases the link.
    private func leave() {
        depart { $0.abort() }
        let hearsLater = state.withLockedValue { state in
            if !state.losesToServer { state.link = nil }
            return state.link != nil
        }
        // Even if the report is lost, a server notices a silent client after a while. By then, the server may already
        // have the client's next connection.
        if hearsLater { loop.scheduleTask(in: .seconds(20)) { self.tellServerOfEnd() } }
    }

    private var loop: SimulatedEventLoop { network.loop }

    var isEnded: Bool { state.withLockedValue { $0.isEnded } }
    var isClosing: Bool { state.withLockedValue { $0.isClosing } }
    var isSilent: Bool { state.withLockedValue { $0.losesToClient || $0.losesToServer } }

    var isQuiet: Bool {
        let now = loop.now
        return state.withLockedValue { state in
            state.isOpen && !state.isEnded && !state.isClosing && !state.losesToClient && !state.losesToServer
                && state.arriving.isEmpty && state.writes.isEmpty && state.lastDeparture < now
        }
    }

    // MARK: Opening

    func connect(_ link: InMemoryLink) { state.withLockedValue { $0.link = link } }

    /// Makes the attempt fail after a while.
    func fail(after delay: Duration, _ error: PusherClientError) {
        arrive(.ended(TransportClosure(code: nil, error: error)), after: delay)
    }

    // MARK: The client

    func send(_ text: String, promise: EventLoopPromise<Void>?) {
        let isWritable = state.withLockedValue { $0.isOpen && !$0.isEnded && !$0.isClosing }
        guard isWritable else {
            promise?.fail(PusherClientError(.connectionClosed, "the connection is not open"))
            return
        }
        let delay = network.conditions.writeDelay
        let isWaiting = state.withLockedValue { state in
            guard delay > .zero || !state.writes.isEmpty else { return false }
            state.writes.append((text, promise))
            return true
        }
        guard isWaiting else { return pass(text, promise) }
        loop.scheduleTask(in: delay) { self.passWrites() }
    }

    /// Passes a message to the operating system, which accepts it.
    private func pass(_ text: String, _ promise: EventLoopPromise<Void>?) {
        connection?.sent(text)
        promise?.succeed()
        depart { $0.send(text) }
    }

    /// Passes all waiting messages to the operating system.
    private func passWrites() {
        // A sleeping client learns of the acceptance when it wakes.
        if loop.isAsleep { return loop.execute(isClient: true) { self.passWrites() } }
        for (text, promise) in takeWrites() { pass(text, promise) }
    }

    private func takeWrites() -> [(text: String, promise: EventLoopPromise<Void>?)] {
        state.withLockedValue { state in
            defer { state.writes = [] }
            return state.writes
        }
    }

    func flush() {}

    func close(code: CloseCode, reason: String) {
        passWrites()
        let isOpen = state.withLockedValue { state in
            state.isClosing = true
            return state.isOpen
        }
        if isOpen { return depart { $0.close(code: code.rawValue, reason: reason) } }
        arrive(.ended(TransportClosure(code: nil)), after: .zero)
        depart { $0.abort() }
    }

    func abort() {
        end()
        leave()
    }

    // MARK: The network

    /// Makes the network lose everything from now on.
    func lose(toClient: Bool, toServer: Bool) {
        state.withLockedValue { state in
            state.losesToClient = state.losesToClient || toClient
            state.losesToServer = state.losesToServer || toServer
        }
    }

    /// Cuts the TCP connection. The two sides notice the loss at different times.
    func cut(clientHearsAfter delay: Duration) {
        arrive(.ended(TransportClosure(code: nil, error: PusherClientError(.connectionClosed, "cut"))), after: delay)
        depart { $0.abort() }
    }

    /// Makes the server notice that the client has left.
    func tellServerOfEnd() {
        let link = state.withLockedValue { state -> InMemoryLink? in
            guard state.isEnded else { return nil }
            defer { state.link = nil }
            return state.link
        }
        link?.abort()
    }

    // MARK: To the server

    private func depart(_ message: @escaping @Sendable (InMemoryLink) -> Void) {
        let latency = network.nextLatency()
        let (link, due) = state.withLockedValue { state in
            state.lastDeparture = max(state.lastDeparture, loop.now + latency)
            return (state.losesToServer ? nil : state.link, state.lastDeparture)
        }
        guard let link else { return }
        loop.scheduleTask(deadline: due) { message(link) }
    }

    // MARK: To the client

    func received(_ event: InMemoryLink.Event) {
        switch event {
        case .opened: arrive(.opened)
        case .text(let text): arriveInPieces(Frame.encode(.text, Array(text.utf8), fragments: network.nextFragments()))
        case .binary(let bytes): arriveInPieces(Frame.encode(.binary, bytes))
        case .ping(let payload): arriveInPieces(Frame.encode(.ping, payload))
        case .pong(let payload): arriveInPieces(Frame.encode(.pong, payload))
        case .rawBytes(let bytes): arriveInPieces(bytes)
        case .closed(let code, let reason): arriveInPieces(Frame.close(code, reason))
        case .unreachable: end("nobody listens", .connectionFailed)
        case .refused(let status): end("the upgrade was answered with \(status)", .upgradeFailed)
        case .dropped: end("dropped", .connectionClosed)
        }
    }

    private func end(_ message: String, _ code: PusherClientError.Code) {
        arrive(.ended(TransportClosure(code: nil, error: PusherClientError(code, message))))
    }

    private func arriveInPieces(_ bytes: [UInt8]) {
        for piece in network.cut(bytes) { arrive(.bytes(Array(piece))) }
    }

    private func arrive(_ item: Item, after delay: Duration? = nil) {
        let latency = delay.map { TimeAmount($0) } ?? network.nextLatency()
        let due = state.withLockedValue { state -> NIODeadline? in
            guard !state.losesToClient else { return nil }
            state.lastArrival = max(state.lastArrival, loop.now + latency)
            state.arriving.append((state.lastArrival, item))
            return state.lastArrival
        }
        guard let due else { return }
        loop.scheduleTask(deadline: due) { self.read() }
    }

    /// Reads all arrived bytes in one read.
    private func read() {
        // While the client sleeps, bytes wait in the operating system.
        if loop.isAsleep { return loop.execute(isClient: true) { self.read() } }
        let items = state.withLockedValue { state -> [Item] in
            guard !state.isEnded, state.isReading else { return [] }
            let count = state.arriving.prefix { $0.due <= loop.now }.count
            defer { state.arriving.removeFirst(count) }
            return state.losesToClient ? [] : state.arriving.prefix(count).map(\.item)
        }
        guard !items.isEmpty else { return }
        var isInPart = false
        for item in items where !isEnded {
            switch item {
            case .opened:
                state.withLockedValue { $0.isOpen = true }
                receive(.opened)
            case .bytes(let bytes):
                isInPart = !handle(bytes)
            case .ended(let closure):
                end(closure)
            }
        }
        guard !isEnded else { return }
        if isInPart { receive(.activity) }
        receive(.readComplete)
    }

    /// Handles bytes. Returns true if a message was complete.
    private func handle(_ bytes: [UInt8]) -> Bool {
        state.withLockedValue { $0.reader.append(ByteBuffer(bytes: bytes)) }
        var hasOutput = false
        while !isEnded {
            switch state.withLockedValue({ $0.nextOutput() }) {
            case .success(let output?):
                hasOutput = true
                deliver(output)
            case .success(nil):
                return hasOutput
            case .failure(let violation):
                end(TransportClosure(code: nil, error: PusherClientError(.protocolViolation, violation.message)))
                return true
            }
        }
        return hasOutput
    }

    private func deliver(_ output: WebSocketFrameReader.Output) {
        switch output {
        case .text(let text): receive(.text(text.readableBytesUInt8Span))
        // The reader allows no compression, so it returns no compressed message.
        case .binary(let bytes), .compressed(let bytes, _): receive(.binary(bytes))
        case .fragment, .pong: receive(.activity)
        case .ping(let payload):
            let bytes = Array(payload.readableBytesView)
            depart { $0.sendPong(bytes) }
            receive(.activity)
        case .close(let code, let reason):
            end(TransportClosure(code: CloseCode(rawValue: code.rawValue), reason: reason))
        }
    }

    private func end(_ closure: TransportClosure) {
        let receive = state.withLockedValue { $0.receive }
        end()
        receive?(.closed(closure))
        leave()
    }
}
