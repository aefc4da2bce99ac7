import PusherProtocol
import RealtimePrimitives

@testable import PusherCore

/// A list of effects that tests compare with strings, such as `["abort 1", "report pongTimedOut"]`.
///
/// A transcript formats its effects on demand, because tests do not read most transcripts.
struct Transcript: Equatable, CustomStringConvertible, ExpressibleByArrayLiteral {
    enum Kind { case wire, timer, change, authorization, told, outcome }

    private enum Line {
        case words(String)
        case effect(Effect, Names)
    }

    private var lines: [Line]

    init(_ effects: [Effect], _ names: Names) { lines = effects.map { .effect($0, names) } }

    init(_ words: [String]) { lines = words.map { .words($0) } }

    init(arrayLiteral elements: String...) { self.init(elements) }

    var words: [String] {
        lines.map { line in
            switch line {
            case .words(let words): words
            case .effect(let effect, let names): names.words(effect)
            }
        }
    }

    var last: String? { words.last }

    var effects: [Effect] {
        lines.compactMap { line in
            guard case .effect(let effect, _) = line else { return nil }
            return effect
        }
    }

    /// The messages that the client sends.
    var sent: [Envelope] {
        effects.compactMap { effect in
            switch effect {
            case .send(_, let envelope): envelope
            case .sendClientEvent(_, let item): item.envelope
            default: nil
            }
        }
    }

    /// The errors that the client reports to all listeners.
    var reports: [PusherClientError] {
        effects.compactMap { effect in
            guard case .report(let error) = effect else { return nil }
            return error
        }
    }

    var description: String { words.joined(separator: ", ") }

    static func == (left: Transcript, right: Transcript) -> Bool { left.words == right.words }

    static func + (left: Transcript, right: Transcript) -> Transcript {
        var sum = left
        sum.lines += right.lines
        return sum
    }

    /// The calls to the transport: `open 1`, `send 1 ping`, `close 1 1000`, `abort 1`.
    var wire: Transcript { only(.wire) }
    /// The changes of timers, such as `set pong 30s` and `stop pong`.
    var timers: Transcript { only(.timer) }
    /// The changes of state and status, such as `connecting → connected` and `status connected 1.1`, and questions to
    /// the policy: `ask retry 0`.
    var changes: Transcript { only(.change) }
    /// The questions to authorizers: `authorize a`, `authorize a again 2`, `forget a`.
    var authorizations: Transcript { only(.authorization) }
    /// The reports to the app: events, subscriptions, errors.
    var told: Transcript { only(.told) }
    /// The results of waiting calls, such as `resume 1 done`.
    var outcomes: Transcript { only(.outcome) }

    /// The effects except timers, states and statuses of the connection.
    var acts: Transcript { filtered { $0.kind != .timer && $0.kind != .change } }

    /// The effects except timers and states. Statuses show more detail than states.
    var summary: Transcript {
        filtered { effect in
            if case .stateChanged = effect { false } else { effect.kind != .timer }
        }
    }

    private func only(_ kind: Kind) -> Transcript { filtered { $0.kind == kind } }

    private func filtered(_ isIncluded: (Effect) -> Bool) -> Transcript {
        var part = self
        part.lines.removeAll { line in
            guard case .effect(let effect, _) = line else { return true }
            return !isIncluded(effect)
        }
        return part
    }
}

extension Effect {
    fileprivate var kind: Transcript.Kind {
        switch self {
        case .open, .send, .sendMessage, .sendClientEvent, .close, .abort: .wire
        case .schedule, .cancel: .timer
        case .askRetryPolicy, .stateChanged, .statusChanged: .change
        case .gatherAuthorizations, .authorize, .cancelAuthorization, .openBox: .authorization
        case .report, .deliver, .subscribed, .subscriptionFailed, .subscriptionCountChanged, .membersReplaced,
            .memberAdded, .memberRemoved, .cacheMissed, .failedToDecrypt, .signedIn, .signInFailed, .deliverToUser,
            .watchlistChanged, .retired, .hastyConnects, .epochBegan, .released:
            .told
        case .resume: .outcome
        }
    }
}

/// A table of the names that tests use for ids.
struct Names {
    var now: Instant
    var attempts: [AttemptID]
    var channels: [ChannelID: String]
    var waiters: [WaiterID]

    func words(_ effect: Effect) -> String {
        switch effect {
        case .open(let id, let request):
            "open \(number(id))" + (request.host == "server.example" ? "" : " \(request.host)")
                + (request.useTLS ? " wss:\(request.port)" : "")
        case .send(let id, let envelope), .sendMessage(let id, let envelope):
            "send \(number(id)) \(words(envelope))"
        case .sendClientEvent(let id, let item):
            "send \(number(id)) \(item.envelope.event) on \(item.name)" + (item.waiter == nil ? "" : " awaited")
        case .gatherAuthorizations: "gather authorizations"
        case .authorize(let questions):
            questions.sorted { $0.key < $1.key }.map { id, question in
                "authorize \(words(question))" + (id.number > 1 ? " again \(id.number)" : "")
            }.joined(separator: ", ")
        case .cancelAuthorization: "forget the authorization"
        case .openBox(_, let name, _): "open a box of \(name)"
        case .close(let id, let code): "close \(number(id)) \(code.rawValue)"
        case .abort(let id, _): "abort \(number(id))"
        case .schedule(let id, let delay): "set \(id.purpose) \(delay.words)"
        case .cancel(let id): "stop \(id.purpose)"
        case .askRetryPolicy(_, let context): words(context)
        case .stateChanged(let old, let new): "\(old.stringValue()) → \(new.stringValue())"
        case .statusChanged(let status): "status \(words(status))"
        case .report(let error): "report \(words(error))"
        case .deliver(.globalListeners, let event): "deliver - \(event.event)"
        case .deliver(.channel(let id), let event): "deliver \(name(id)) \(event.event)"
        case .subscribed(let id, _, let away): "subscribed \(name(id))" + (away.map { " away \($0.words)" } ?? "")
        case .subscriptionFailed(let id, let error, _): "failed \(name(id)) \(words(error.clientError, in: name(id)))"
        case .subscriptionCountChanged(let id, let count, _): "count \(name(id)) \(count)"
        case .membersReplaced(let id, let members, let difference):
            "members \(name(id)) \(words(members))"
                + (difference.added.isEmpty ? "" : " added \(words(difference.added))")
                + (difference.removed.isEmpty ? "" : " removed \(words(difference.removed))")
        case .memberAdded(let id, let member, _): "added \(name(id)) \(words([member]))"
        case .memberRemoved(let id, let member, _): "removed \(name(id)) \(words([member]))"
        case .cacheMissed(let id, _): "cache miss \(name(id))"
        case .failedToDecrypt(let id, let event, let error): "unreadable \(name(id)) \(event.event) \(error.code)"
        case .signedIn(let user, _): "signed in \(user.id)"
        case .signInFailed(let error, _): "sign-in \(words(error))"
        case .deliverToUser(let event): "user \(event.event)"
        case .watchlistChanged(let event): "\(event.name) \(event.userIds.joined(separator: " "))"
        case .retired(let id): "retired \(name(id))"
        case .hastyConnects: "warn of hasty connects"
        case .epochBegan(let connection, let user): "epoch \(connection).\(user)"
        case .released: "released"
        case .resume(let id, let outcome): "resume \((waiters.firstIndex(of: id) ?? -1) + 1) \(words(outcome))"
        }
    }

    private func number(_ attempt: AttemptID) -> Int { (attempts.firstIndex(of: attempt) ?? -1) + 1 }

    private func name(_ channel: ChannelID) -> String { channels[channel] ?? "?" }

    private func words(_ envelope: Envelope) -> String {
        let event = envelope.event.hasPrefix("pusher:") ? String(envelope.event.dropFirst(7)) : envelope.event
        return ([event, envelope.data.value?["channel"]?.string].compactMap { $0 }).joined(separator: " ")
    }

    private func words(_ question: AuthorizationQuestion) -> String {
        switch question.subject {
        case .channel(let name): "\(name) for \(question.socketID)"
        case .user: "the user for \(question.socketID)"
        }
    }

    /// `ada:{"age":36} bob`
    private func words(_ members: [PresenceMember]) -> String {
        members.map { member in member.id + (member.info.map { ":\($0)" } ?? "") }.joined(separator: " ")
    }

    private func words(_ context: RetryQuestion) -> String {
        "ask retry \(context.retryCount)"
            + (context.minimumDelay > .zero ? " at least \(context.minimumDelay.words)" : "")
    }

    private func words(_ status: ConnectionStateMachine.Status) -> String {
        switch status {
        case .initialized: "initialized"
        case .connecting: "connecting"
        case .connected(let socketID): "connected \(socketID)"
        case .unavailable(let reason):
            ["unavailable", reason.map { words($0) }].compactMap { $0 }.joined(separator: " ")
        case .waiting(let until, let attempt, let reason):
            "waiting \((until - now).words) attempt \(attempt) \(words(reason))"
        case .refused(let error): "refused \(words(error))"
        case .disconnecting: "disconnecting"
        case .disconnected(let reason):
            ["disconnected", reason.map { words($0) }].compactMap { $0 }.joined(separator: " ")
        }
    }

    private func words(_ outcome: WaiterOutcome) -> String {
        switch outcome {
        case .connected(let socketID): "connected \(socketID)"
        case .done: "done"
        case .failed(let error): "failed \(error.code)"
        case .subscriptionFailed(let error): "failed \(error.code)"
        case .cancelled: "cancelled"
        }
    }

    /// Returns a description of an error. The description names the channel only if it is not `channel`.
    private func words(_ error: PusherClientError, in channel: String? = nil) -> String {
        var words = [error.code.rawValue]
        if let code = error.serverCode { words.append(String(code)) }
        if let name = error.channelName, name != channel { words.append("of \(name)") }
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
