import PusherClient
import PusherProtocol

/// Effects in words, so that a test reads as what happened: `["abort 1", "report pongTimedOut"]`.
struct Transcript: Equatable, CustomStringConvertible, ExpressibleByArrayLiteral {
    enum Kind { case wire, timer, change, told, outcome }

    struct Line: Equatable {
        var kind: Kind?
        var text: String

        static func == (left: Line, right: Line) -> Bool { left.text == right.text }
    }

    var lines: [Line]

    init(lines: [Line] = []) { self.lines = lines }

    init(arrayLiteral elements: String...) { lines = elements.map { Line(text: $0) } }

    var description: String { lines.map(\.text).joined(separator: ", ") }

    /// What goes to the transport: `open 1`, `send 1 ping`, `close 1`, `abort 1`.
    var wire: Transcript { only(.wire) }
    /// `set pong 30s`, `stop pong`.
    var timers: Transcript { only(.timer) }
    /// `connecting → connected`, `status connected 1.1`, and questions to the policy.
    var changes: Transcript { only(.change) }
    /// What the application is told of: events, subscriptions, errors.
    var told: Transcript { only(.told) }
    /// How waiting calls end: `resume 1 done`.
    var outcomes: Transcript { only(.outcome) }

    private func only(_ kind: Kind) -> Transcript { Transcript(lines: lines.filter { $0.kind == kind }) }

    static func + (left: Transcript, right: Transcript) -> Transcript { Transcript(lines: left.lines + right.lines) }
}

/// Gives ids the names under which tests know them.
struct Names {
    var now: Instant
    var attempt: (AttemptID) -> Int
    var channel: (ChannelID) -> String
    var waiter: (WaiterID) -> Int

    func line(_ effect: Effect) -> Transcript.Line {
        switch effect {
        case .open(let id, let request):
            Transcript.Line(kind: .wire, text: "open \(attempt(id))" + (request.useTLS ? " wss:\(request.port)" : ""))
        case .send(let id, let envelope):
            Transcript.Line(kind: .wire, text: "send \(attempt(id)) \(words(envelope))")
        case .close(let id, let code): Transcript.Line(kind: .wire, text: "close \(attempt(id)) \(code.rawValue)")
        case .abort(let id): Transcript.Line(kind: .wire, text: "abort \(attempt(id))")
        case .schedule(let id, let delay): Transcript.Line(kind: .timer, text: "set \(id.purpose) \(delay.words)")
        case .cancel(let id): Transcript.Line(kind: .timer, text: "stop \(id.purpose)")
        case .askRetryPolicy(_, let context): Transcript.Line(kind: .change, text: words(context))
        case .stateChanged(let old, let new):
            Transcript.Line(kind: .change, text: "\(old.stringValue()) → \(new.stringValue())")
        case .statusChanged(let status): Transcript.Line(kind: .change, text: "status \(words(status))")
        case .report(let error): Transcript.Line(kind: .told, text: "report \(words(error))")
        case .deliver(let id, let event):
            Transcript.Line(kind: .told, text: "deliver \(id.map(channel) ?? "-") \(event.event)")
        case .subscribed(let id, _, let away):
            Transcript.Line(
                kind: .told,
                text: "subscribed \(channel(id))" + (away.map { " away \($0.words)" } ?? "")
            )
        case .subscriptionFailed(let id, let error, _):
            Transcript.Line(kind: .told, text: "failed \(channel(id)) \(error.code)")
        case .subscriptionCountChanged(let id, let count, _):
            Transcript.Line(kind: .told, text: "count \(channel(id)) \(count)")
        case .retired(let id): Transcript.Line(kind: .told, text: "retired \(channel(id))")
        case .resume(let id, let outcome):
            Transcript.Line(kind: .outcome, text: "resume \(waiter(id)) \(words(outcome))")
        }
    }

    private func words(_ envelope: Envelope) -> String {
        let event = envelope.event.hasPrefix("pusher:") ? String(envelope.event.dropFirst(7)) : envelope.event
        return ([event, envelope.data.value?["channel"]?.string].compactMap { $0 }).joined(separator: " ")
    }

    private func words(_ context: RetryContext) -> String {
        "ask retry \(context.retryCount)"
            + (context.minimumDelay > .zero ? " at least \(context.minimumDelay.words)" : "")
    }

    private func words(_ status: ConnectionStatus) -> String {
        switch status {
        case .initialized: "initialized"
        case .connecting: "connecting"
        case .connected(let socketID): "connected \(socketID)"
        case .unavailable(let reason): ["unavailable", reason.map(words)].compactMap { $0 }.joined(separator: " ")
        case .waiting(let until, let attempt, let reason):
            "waiting \((until - now).words) attempt \(attempt) \(words(reason))"
        case .refused(let error): "refused \(words(error))"
        case .disconnecting: "disconnecting"
        case .disconnected(let reason): ["disconnected", reason.map(words)].compactMap { $0 }.joined(separator: " ")
        }
    }

    private func words(_ outcome: WaiterOutcome) -> String {
        switch outcome {
        case .connected(let socketID): "connected \(socketID)"
        case .done: "done"
        case .failed(let error): "failed \(error.code)"
        case .cancelled: "cancelled"
        }
    }

    private func words(_ error: PusherClientError) -> String {
        var words = [error.code.rawValue]
        if let code = error.serverCode { words.append(String(code)) }
        if let channel = error.channelName { words.append("of \(channel)") }
        return words.joined(separator: " ")
    }
}

extension Duration {
    /// `30s`, `0.25s`.
    var words: String {
        let seconds = Double(components.seconds) + Double(components.attoseconds) / 1e18
        return (Int(exactly: seconds).map { String($0) } ?? String(seconds)) + "s"
    }
}
