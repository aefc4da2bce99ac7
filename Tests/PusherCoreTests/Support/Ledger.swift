import ClientTestSupport
import PusherProtocol
import RealtimePrimitives

@testable import PusherCore

/// Records the effects of the machine, and reports every forbidden effect as a violation.
///
/// The ledger checks the rules that the machine must follow. There is one attempt at a time, no message without a
/// connection, and no unnecessary timer. Changes have a valid order, and each waiting call gets one outcome.
struct Ledger {
    private(set) var violations: [String] = []
    /// All attempts, in order.
    private(set) var attempts: [AttemptID] = []
    private(set) var liveAttempt: AttemptID?
    /// The running timers, with the time on the event loop's clock when they are due.
    private(set) var timers: [TimerID: Duration] = [:]
    private(set) var state = ConnectionState.disconnected
    private(set) var status = ConnectionStateMachine.Status.initialized
    private(set) var questions: [RetryQuestionID] = []
    /// The last question.
    private(set) var lastQuestion: RetryQuestion?
    /// The running authorizations, with their questions.
    private(set) var authorizations: [AuthorizationTry: AuthorizationQuestion] = [:]
    /// The number of the request that contains each authorization.
    private var requests: [AuthorizationTry: Int] = [:]
    private var requestCount = 0
    /// Whether the machine will request authorizations in the next turn of the loop.
    private(set) var isGathering = false
    /// The calls that still wait.
    private(set) var waiters: Set<WaiterID> = []
    private var retired: Set<ChannelID> = []
    private var isReleased = false
    /// The subscriptions on the live attempt that the server has not answered.
    private var unanswered: Set<String> = []
    private var channels = ChannelLedger()

    // MARK: Calls of the test

    mutating func began(_ waiter: WaiterID) { waiters.insert(waiter) }

    mutating func socketEnded(_ attempt: AttemptID) {
        guard liveAttempt == attempt else { return }
        liveAttempt = nil
        unanswered = []
        channels.connectionEnded()
    }

    mutating func fired(_ timer: TimerID) {
        timers[timer] = nil
        // After this timer, the client no longer waits for the user's own channel, and may subscribe again.
        guard timer.purpose == .ownChannel else { return }
        unanswered = unanswered.filter { !$0.hasPrefix(ChannelName.serverToUserPrefix) }
    }

    mutating func answered(_ channel: String) { unanswered.remove(channel) }

    mutating func authorized(_ id: AuthorizationTry) { authorizations[id] = nil }

    mutating func gathered() { isGathering = false }

    // MARK: Effects of the machine

    mutating func record(_ effect: Effect, at loopTime: Duration) {
        let state = state
        channels.record(effect)
        switch effect {
        case .open(let id, _):
            check(liveAttempt == nil, "an attempt is opened during another attempt")
            check(!attempts.contains(id), "an attempt's id is used twice")
            attempts.append(id)
            liveAttempt = id
        case .send(let id, let envelope), .sendMessage(let id, let envelope):
            check(id == liveAttempt, "\(envelope.event) is sent on an old attempt")
            check(state == .connected, "\(envelope.event) is sent while \(state)")
            recordSent(envelope)
        case .sendClientEvent(let id, let item):
            check(id == liveAttempt, "\(item.envelope.event) is sent on an old attempt")
            check(state == .connected, "\(item.envelope.event) is sent while \(state)")
        case .gatherAuthorizations:
            check(!isGathering, "authorizations are gathered twice")
            isGathering = true
        case .authorize(let questions):
            check(Set(questions.values.map(\.subject)).count == questions.count, "a request contains a subject twice")
            requestCount += 1
            for (id, question) in questions {
                requests[id] = requestCount
                check(authorizations.updateValue(question, forKey: id) == nil, "an authorization is requested twice")
                let isDouble = authorizations.count { $0.value == question } > 1
                check(!isDouble, "two authorizations of \(question.subject) are pending")
            }
        case .cancelAuthorization(let id):
            check(authorizations.removeValue(forKey: id) != nil, "a cancelled authorization is not pending")
        case .close(let id, _):
            check(id == liveAttempt, "an old attempt is closed")
        case .abort(let id, _):
            check(id == liveAttempt, "an old attempt is aborted")
            socketEnded(id)
        case .schedule(let id, let delay):
            check(timers[id] == nil && delay >= .zero, "timer \(id.purpose) is set twice, or for \(delay)")
            timers[id] = loopTime + delay
        case .cancel(let id):
            fired(id)
        case .askRetryPolicy(let id, let question):
            questions.append(id)
            lastQuestion = question
            // After a timeout, the client may subscribe again.
            if question.reason.code == .subscriptionTimedOut, let name = question.reason.channelName { answered(name) }
        case .stateChanged(let old, let new):
            check(old == state && old != new, "\(old) → \(new) is reported after \(state)")
            self.state = new
            if new != .connected { channels.connectionEnded() }
        case .statusChanged(let new):
            check(new != status, "the status \(new) is reported twice")
            status = new
        case .report, .hastyConnects, .epochBegan, .openBox, .signedIn, .signInFailed, .deliverToUser,
            .watchlistChanged:
            break
        case .deliver(.channel(let id), _), .subscribed(let id, _, _), .subscriptionCountChanged(let id, _, _),
            .membersReplaced(let id, _, _), .memberAdded(let id, _, _), .memberRemoved(let id, _, _),
            .cacheMissed(let id, _), .failedToDecrypt(let id, _, _):
            check(!retired.contains(id), "a retired channel gets an event")
        case .deliver(.globalListeners, _):
            break
        case .subscriptionFailed(let id, _, let event):
            check(!retired.contains(id), "a retired channel gets a failure")
            if let channel = event.channel { answered(channel) }
        case .retired(let id):
            check(retired.insert(id).inserted, "a channel is retired twice")
        case .released:
            check(!isReleased, "the client is released twice")
            isReleased = true
        case .resume(let waiter, _):
            check(waiters.remove(waiter) != nil, "a resumed call does not wait")
        }
    }

    private var socketID: String? {
        if case .connected(let socketID) = status { socketID } else { nil }
    }

    private mutating func recordSent(_ envelope: Envelope) {
        guard let channel = envelope.data.value?["channel"]?.string else { return }
        let socketID = socketID ?? "nothing"
        if let auth = envelope.data.value?["auth"]?.string, auth.hasPrefix("key:") {
            check(auth == "key:\(socketID)/\(channel)", "the signature \(auth) is sent on \(socketID)")
        }
        if envelope.event == EventName.subscribe {
            check(unanswered.insert(channel).inserted, "\(channel) is subscribed twice")
        } else {
            answered(channel)
        }
    }

    // MARK: Invariants between two inputs

    mutating func check(_ machine: ClientStateMachine) {
        check(machine.connectionState == state, "the state \(machine.connectionState) was not reported")
        if machine.connection.session == nil {
            let count = authorizations.count
            check(count == 0, "\(count) authorizations continue without a connection")
        }
        let channels = authorizations.keys.filter { authorizations[$0]?.subject != .user }
        check(
            Set(channels.map { requests[$0] }).count <= max(machine.configuration.authorizationsAtOnce, 1),
            "too many authorizations are pending at once"
        )
        self.channels.check(machine)
        violations += StatisticsBalance(machine, attempts: attempts.count).violations
        check(
            machine.connection.currentAttempt == liveAttempt,
            "the machine and the ledger disagree about the live attempt"
        )
        checkTimers(machine)
        if case .asking = machine.connection.state { return }
        check(machine.status == status, "the status \(machine.status) was not reported")
    }

    private mutating func checkTimers(_ machine: ClientStateMachine) {
        let rules = TimerRules(machine.connection.state)
        if let problem = rules.problem(with: timers.keys.map(\.purpose)) { violations.append(problem) }
    }

    private mutating func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }

    mutating func takeViolations() -> [String] {
        defer { violations = [] }
        return violations + channels.takeViolations()
    }
}
