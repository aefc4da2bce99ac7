import NIOCore

/// Reads the events of a stream. ``next()`` parses bytes in the app's task, and takes more bytes after it has parsed
/// all earlier bytes. When the reader is released, it closes the stream.
final class EventStreamReader {
    typealias Position = EventStreamStateMachine.Position

    /// The stream, which closes when the app has released it and its reader.
    private let stream: EventStream
    private var session: EventStreamSession { stream.session }
    private var parser: EventStreamParser
    private var items: ArraySlice<EventStreamInbox.Item> = []
    private var bytes = ByteBuffer()
    /// The body so far, if the whole body is one event.
    private var whole: ByteBuffer?
    private var hasEvents = false
    private var newEvents = 0
    private var isStarted = false
    /// The reason why the stream ended without an error; otherwise `nil`.
    private(set) var ending: EventStreamInbox.Ending?
    private var isOver = false

    init(_ stream: EventStream, reportsComments: Bool) {
        self.stream = stream
        parser = EventStreamParser(
            lastEventID: stream.lastEventID,
            limit: stream.session.options.maximumMessageSize,
            reportsComments: reportsComments
        )
    }

    deinit { stop() }

    /// Returns the next item, or `nil` when the stream has ended or the task is cancelled.
    func next() async throws(EventStreamError) -> EventStreamItem? {
        if session.isOver { stop() }
        while true {
            if let item = try nextParsed() { return item }
            if let item = items.popFirst() {
                if let item = handle(item) { return item }
                continue
            }
            if isOver { return nil }
            if !isStarted { try start() }
            report()
            let (items, end) = session.take()
            self.items = items[...]
            if let end {
                isOver = true
                ending = try end.get()
            } else if items.isEmpty {
                await session.wait()
            }
        }
    }

    /// Ends the stream. A second call has no effect.
    func stop() {
        report()
        isOver = true
        (items, bytes) = ([], ByteBuffer())
        if isStarted { session.stop() }
    }

    private func start() throws(EventStreamError) {
        guard session.start() else {
            isOver = true
            throw EventStreamError(
                .alreadyIterated,
                "Stream not connected: its events were iterated before. Create another stream."
            )
        }
        isStarted = true
    }

    /// The next item in the available bytes.
    private func nextParsed() throws(EventStreamError) -> EventStreamItem? {
        if whole != nil { try collect() }
        while bytes.readableBytes > 0 {
            let element: EventStreamParser.Element?
            do {
                let count: Int
                (count, element) = try bytes.withUnsafeReadableBytes { try parser.read($0) }
                bytes.moveReaderIndex(forwardBy: count)
            } catch {
                throw tooLarge()
            }
            switch element {
            case .event(let event)?:
                hasEvents = true
                newEvents += 1
                return .event(event)
            case .comment(let text)?: return .comment(text)
            case nil: break
            }
        }
        return nil
    }

    /// Moves the available bytes to the body that is one event.
    private func collect() throws(EventStreamError) {
        guard bytes.readableBytes <= session.options.maximumMessageSize - (whole?.readableBytes ?? 0) else {
            throw tooLarge()
        }
        whole?.writeBuffer(&bytes)
    }

    private func tooLarge() -> EventStreamError {
        let limit = session.options.maximumMessageSize
        let error = EventStreamError(
            .messageTooBig,
            "Event too large: it has more than \(limit) bytes. Raise maximumMessageSize if your server sends such events."
        )
        session.failed(error)
        stop()
        return error
    }

    private func handle(_ item: EventStreamInbox.Item) -> EventStreamItem? {
        switch item {
        case .opened(let response, let isWhole):
            parser.startResponse()
            hasEvents = false
            whole = isWhole ? ByteBuffer() : nil
            return .opened(response)
        case .bytes(let bytes):
            self.bytes = bytes
            return nil
        case .ended(let attempt, let isComplete):
            let event = isComplete ? wholeEvent() : nil
            whole = nil
            report()
            session.drained(attempt, position)
            return event.map { .event($0) }
        case .lost(let error): return .lost(error)
        }
    }

    /// Makes the event of a response whose whole body is one event; `nil` if the body is empty, or is an event stream.
    private func wholeEvent() -> ServerSentEvent? {
        guard let whole, whole.readableBytes > 0 else { return nil }
        hasEvents = true
        newEvents += 1
        return ServerSentEvent(data: String(decoding: whole.readableBytesView, as: UTF8.self), id: parser.lastEventID)
    }

    var position: Position {
        Position(
            lastEventID: parser.lastEventID,
            reconnectionTime: parser.reconnectionTime,
            hasEvents: hasEvents
        )
    }

    /// Reports the position to the session. The reader calls this method rarely, because each call takes a lock.
    private func report() {
        guard isStarted else { return }
        session.read(position, newEvents: newEvents)
        newEvents = 0
    }
}
