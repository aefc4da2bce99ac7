import PusherTestServer

/// The console's log and actions, without HTTP.
actor Console {
    private let server: PusherTestServer
    private var log: ConsoleLog
    private var pages: [Int: AsyncStream<Void>.Continuation] = [:]
    private var lastPage = 0
    /// The delay of messages, in milliseconds. Only the console sets the server's delay, so this value equals the
    /// server's delay.
    private var delay = 0
    private var isSilent = false

    /// An update for a page.
    struct Update: Encodable, Sendable {
        var entries: [ConsoleEntry]
        /// The index of the first line after these entries.
        var next: Int
        /// The new state; nil if the state has not changed.
        var state: ConsoleState?

        /// Whether the log already contains more lines.
        var isPartial: Bool
    }

    /// The maximum number of lines in one update.
    static let updateLimit = 500

    init(_ server: PusherTestServer, log: ConsoleLog = ConsoleLog()) {
        self.server = server
        self.log = log
    }

    /// Follows the server until the task is cancelled.
    func follow() async {
        var expected = 0
        for await record in server.recordSequence {
            log.skip(record.index - expected)
            expected = record.index + 1
            // Skip this record, because each connection that gets the event makes a separate line.
            if case .eventPublished(_, _, 1...) = record.event { continue }
            append(RecordDescription(record))
            // Under load, the next record is always ready, so pause to let other tasks send the lines to the pages.
            if record.index.isMultiple(of: 256) { await Task.yield() }
        }
    }

    private func append(_ description: RecordDescription) {
        log.append(description)
        for page in pages.values { page.yield() }
    }

    // MARK: Pages

    /// The number of open pages.
    var pageCount: Int { pages.count }

    /// Adds an open page, and returns a stream of changes. The stream yields one element at the beginning, and another
    /// element after each change. The stream ends when the page is closed.
    ///
    /// - Parameter setClose: Receives a function that closes the page.
    func open(_ setClose: (@escaping @Sendable () -> Void) -> Void) -> AsyncStream<Void> {
        let (changes, page) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        lastPage += 1
        let id = lastPage
        pages[id] = page
        page.onTermination = { _ in Task { await self.forget(id) } }
        page.yield()
        setClose { page.finish() }
        return changes
    }

    private func forget(_ id: Int) { pages[id] = nil }

    /// - Parameters:
    ///   - index: The first line that the page does not have yet.
    ///   - state: The last state that the page has received.
    func update(from index: Int, after state: ConsoleState?) -> Update {
        let entries = log.entries(from: index, limit: Self.updateLimit)
        let next = entries.count < Self.updateLimit ? log.nextIndex : (entries.last?.index ?? index) + 1
        let current = ConsoleState(server, delay: delay, isSilent: isSilent)
        return Update(
            entries: entries,
            next: next,
            state: current == state ? nil : current,
            isPartial: next < log.nextIndex
        )
    }

    // MARK: Actions

    /// Performs an action and returns a description of it.
    ///
    /// In the log, the action precedes its effects, because this actor also reads the effects.
    func perform(_ action: ConsoleAction) throws -> String {
        switch action {
        case .publish(let event, let data, let channel):
            let count = try publish(event, data, channel)
            note("published", event, channel: channel, detail: data)
            return "Sent to \(count) connection\(count == 1 ? "" : "s")."
        case .drop(let target):
            let text = try describe(target)
            server.dropConnections(target)
            note("dropped", text)
            return "Dropped \(text)."
        case .close(let target, let code, let reason):
            let text = try describe(target)
            server.closeConnections(target, code: code, reason: reason)
            note("closed", text, detail: "with \(code) \(reason)")
            return "Closed \(text) with \(code)."
        case .silence(let target):
            let text = try describe(target)
            server.goSilent(target)
            if target == .all { isSilent = true }
            note("silenced", text)
            return "Silenced \(text)."
        case .speak(let target):
            let text = try describe(target)
            server.speakAgain(target)
            if target == .all { isSilent = false }
            note("ended the silence of", text)
            return "Ended the silence of \(text)."
        case .delay(let milliseconds):
            server.delayMessages(by: .milliseconds(milliseconds))
            delay = milliseconds
            note("delays", "all messages", detail: "by \(milliseconds) ms")
            return milliseconds == 0 ? "Messages are not delayed." : "Delays all messages by \(milliseconds) ms."
        case .rotateKey:
            server.rotateEncryptionKey()
            note("rotated", "the encryption key")
            return "Rotated the key of encrypted channels."
        }
    }

    private func note(_ verb: String, _ subject: String, channel: String? = nil, detail: String = "") {
        append(
            RecordDescription(
                kind: .console,
                who: "console",
                verb: verb,
                subject: subject,
                channel: channel,
                detail: detail,
                payload: detail.isEmpty ? nil : detail
            )
        )
    }

    private func publish(_ event: String, _ data: String, _ channel: String) throws -> Int {
        guard data.utf8.count <= server.options.maximumEventDataSize else {
            throw ConsoleError(
                "Cannot publish: the data has \(data.utf8.count) bytes. The server accepts "
                    + "\(server.options.maximumEventDataSize)."
            )
        }
        do {
            return try server.publish(event: event, data: data, to: channel)
        } catch let error as PusherTestServer.ServerError {
            throw ConsoleError(error.message)
        }
    }

    private func describe(_ target: PusherTestServer.Target) throws -> String {
        switch target {
        case .all: return "all connections"
        case .subscribers(let channel): return "the subscribers of \(channel)"
        case .socket(let id):
            guard server.connections.contains(where: { $0.socketID == id }) else {
                throw ConsoleError("Connection \(id) is not open. Choose another connection.")
            }
            return "connection \(id)"
        }
    }
}

/// The reason why an action failed.
struct ConsoleError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
