import Foundation
import NIOConcurrencyHelpers
import NIOCore
import PusherClient

/// A simulated app with its calls, callbacks and waiting tasks.
final class SimulatedApplication: Sendable {
    struct State: Sendable {
        var pusher: Pusher?
        var delegate: SimulatedDelegate?
        /// Whether the last call requested a connection. If false, the last call was a disconnect, or there was no
        /// call.
        var wantsConnection = false
        /// The number of calls to connect or disconnect since all work was done. Nil if the order of the calls is
        /// unknown, because tasks made some of them.
        var connectionCalls: Int? = 0
        var wantsSignIn = false
        /// The channels that the app has subscribed to with `subscribe`.
        var held: Set<String> = []
        /// The tasks that subscribe to a channel for their lifetime.
        var scopes: [String: Set<Int>] = [:]
        /// The channels that are still leased although the body of the last `withChannel` has ended.
        var endingScopes: Set<String> = []
        var lastID = 0
        /// The callbacks for all events.
        var witnesses: [Int] = []
        var bindings: [Binding] = []
        /// The observations that keep callbacks bound until the app cancels an observation, or releases its channel or
        /// client.
        var observations: [EventObservation] = []
        var readers: [Reader] = []
        /// The countdowns, by the number of the reader.
        var countdowns: [Int: Countdown] = [:]
        /// The time at which the client continued after its last sleep.
        var wakeTime = NIODeadline.uptimeNanoseconds(0)
        /// Readers that the app never stops.
        var followers: [Reader] = []
        var followed: [String: Followed] = [:]
        /// Readers whose sequences must end, and readers whose sequences have ended.
        var endingReaders: Set<Int> = []
        var endedReaders: Set<Int> = []
        /// The engines of released clients.
        var droppedEngines: [WeakEngine] = []
        /// Waiting tasks.
        var waits: [Int: Wait] = [:]
        var connectionState = ConnectionState.disconnected
        var lastStatus: ConnectionStatus?
        /// The last report about each channel.
        var outcomes: [String: Outcome] = [:]
        /// The number of reported connections and subscriptions.
        var connectedCount = 0
        var subscribedCounts: [String: Int] = [:]
        /// Returns whether the server has a subscription of the client; nil if the server's subscriptions prove
        /// nothing.
        var hasAtServer: (@Sendable (String) -> Bool)?
        /// Whether the server has sent false information on this connection.
        var isLiedTo = false
        /// Whether the network holds back the server's messages.
        var isHeldBack = false
        /// Whether the network has held back messages on this connection. An answer may then arrive when the client no
        /// longer expects it, and seem to answer another request.
        var mayGetLateAnswers = false
        /// The channels whose subscriptions fail with an error that may name another channel.
        var falselyRefused: Set<String> = []
        /// The channels whose subscriptions the script has let the server refuse or leave unanswered.
        var refused: Set<String> = []
        /// Whether callbacks may call the client.
        var isReacting = true
        /// The number of callbacks that have called the client.
        var reactionCount = 0
    }

    struct Binding: Sendable {
        var id: Int
        var channel: String?
        var observation: EventObservation
    }

    struct Wait: Sendable {
        var task: Task<Void, Never>
        /// The awaited event; nil for the write of a client event.
        var awaited: Action.Awaited?

        /// Whether the task may wait forever.
        var isEndless: Bool { if case .scope = awaited { true } else { false } }
    }

    struct WeakEngine: Sendable {
        weak let value: ClientEngine?
    }

    struct Reader: Sendable {
        var id: Int
        var channel: String?
        var task: Task<Void, Never>
    }

    /// A presence channel with its reported members.
    struct Followed: Sendable {
        var channel: ObjectIdentifier
        var members = FollowedMembers()
    }

    enum Outcome: Sendable {
        case subscribed
        case failed
    }

    let ledger: WireLedger
    let violations: Violations
    let state = NIOLockedValueBox(State())

    let shown: ShownText?

    init(ledger: WireLedger, violations: Violations, shown: ShownText?) {
        self.ledger = ledger
        self.violations = violations
        self.shown = shown
    }

    var pusher: Pusher? { state.withLockedValue { $0.pusher } }

    func channel(_ name: String) -> PusherChannel? { pusher?.connection.channels.find(name: name) }

    /// The channels that must be subscribed.
    var wanted: Set<String> {
        state.withLockedValue { state in state.held.union(state.scopes.filter { !$0.value.isEmpty }.keys) }
    }

    var waitCount: Int { state.withLockedValue { $0.waits.count } }

    /// The awaited outcomes of waiting calls, except writes of client events.
    var awaited: [Action.Awaited] { state.withLockedValue { $0.waits.values.compactMap(\.awaited) } }

    /// The number of calls that should have returned when all work is done.
    var overdueWaitCount: Int { state.withLockedValue { $0.waits.values.count { !$0.isEndless } } }

    /// Returns the readers whose sequences should have ended by now. These readers are not checked again.
    func takeEndlessReaders() -> [Int] {
        state.withLockedValue { state in
            defer { state.endingReaders = [] }
            return state.endingReaders.subtracting(state.endedReaders).sorted()
        }
    }

    func nextID() -> Int {
        state.withLockedValue { state in
            state.lastID += 1
            return state.lastID
        }
    }

    /// Records that from now on an error may belong to no request.
    func serverLies() { state.withLockedValue { $0.isLiedTo = true } }

    /// Records whether the network holds back the server's messages from now on.
    func networkHoldsBack(_ holdsBack: Bool) {
        state.withLockedValue { state in
            state.isHeldBack = holdsBack
            if holdsBack { state.mayGetLateAnswers = true }
        }
    }

    /// Records a fault of a channel's subscriptions, and whether the server's error may name another channel.
    func refuses(_ channel: String, falsely isFalse: Bool) {
        state.withLockedValue { state in
            state.refused.insert(channel)
            if isFalse { state.falselyRefused.insert(channel) } else { state.falselyRefused.remove(channel) }
        }
    }

    /// Records that the sequence of a reader has ended.
    func ended(_ reader: Int) { state.withLockedValue { _ = $0.endedReaders.insert(reader) } }

    // MARK: The client

    /// - Parameter number: The number of the client.
    func use(_ pusher: Pusher, number: Int) {
        let delegate = SimulatedDelegate(self)
        pusher.delegate = delegate
        let clientState = WireLedger.ClientState(
            isConnected: { [weak pusher] in pusher?.connection.connectionState == .connected },
            isSubscribed: { [weak pusher] name in
                guard name.hasPrefix("#server-to-user-") else {
                    return pusher?.connection.channels.find(name: name)?.subscribed == true
                }
                return pusher?.user.userId.map { name == "#server-to-user-\($0)" } == true
            },
            isBusy: { [weak pusher] in pusher.map { $0.engine.resources.effects > 0 } == true }
        )
        ledger.replaceClient(clientState, number)
        state.withLockedValue { state in
            state.pusher = pusher
            state.delegate = delegate
            state.connectionState = .disconnected
            state.lastStatus = nil
        }
        let statuses = pusher.statuses
        let errors = pusher.errors
        let (id, reportsID) = (nextID(), nextID())
        let reports = Task { [weak self, weak pusher] in
            for await error in errors where pusher != nil {
                self?.shown?.note(error)
                if !error.isAboutClientEvent { continue }
                self?.ledger.state.withLockedValue { $0.accounts.reported += 1 }
            }
            self?.ended(reportsID)
        }
        let task = Task { [weak self, weak pusher] in
            for await status in statuses {
                // The last reports of a released client do not apply to the current client.
                guard let pusher, self?.pusher === pusher else { continue }
                self?.state.withLockedValue { $0.lastStatus = status }
            }
            self?.ended(id)
        }
        state.withLockedValue { state in
            state.followers = [
                Reader(id: id, channel: nil, task: task), Reader(id: reportsID, channel: nil, task: reports),
            ]
        }
        bindWitnesses(pusher)
    }

    /// Binds one callback for all events, and one callback for the user's events.
    private func bindWitnesses(_ pusher: Pusher) {
        let (id, userID) = (nextID(), nextID())
        let ledger = ledger
        ledger.add(ExpectingHandler(channel: nil, event: nil, isSequence: false), id: id)
        ledger.add(ExpectingHandler(channel: "#server-to-user-me", event: nil, isSequence: false), id: userID)
        let observations = [
            pusher.observe { ledger.received($0, by: id) }, pusher.user.observe { ledger.received($0, by: userID) },
        ]
        state.withLockedValue { state in
            state.witnesses = [id, userID]
            state.observations += observations
        }
    }

    /// Releases the client with everything that belongs to it.
    func dropClient() {
        let (bindings, readers, witnesses) = state.withLockedValue { ($0.bindings, $0.readers, $0.witnesses) }
        for witness in witnesses { ledger.setStage(.dropped, of: witness) }
        // Waiting tasks retain the client for a moment longer, so the handlers may still get events.
        for binding in bindings { ledger.setStage(.dropped, of: binding.id) }
        for reader in readers { ledger.setStage(.dropped, of: reader.id) }
        ledger.replaceClient(nil, nil)
        let dropped = state.withLockedValue { state in
            let pusher = state.pusher
            if let pusher { state.droppedEngines.append(WeakEngine(value: pusher.engine)) }
            for reader in state.readers + state.followers { state.endingReaders.insert(reader.id) }
            state.pusher = nil
            state.delegate = nil
            state.held = []
            state.scopes = [:]
            state.bindings = []
            state.readers = []
            state.countdowns = [:]
            state.followers = []
            state.followed = [:]
            state.outcomes = [:]
            state.wantsConnection = false
            state.wantsSignIn = false
            return pusher
        }
        // The objects are released outside the lock, because their release calls the client.
        withExtendedLifetime(dropped) {}
        cancelAll()
    }

    // MARK: Connecting

    /// Records a call to connect or disconnect.
    func willAsk(forConnection wantsConnection: Bool, inTask isInTask: Bool = false) {
        if wantsConnection { ledger.called() } else { ledger.disconnected() }
        state.withLockedValue { state in
            state.wantsConnection = wantsConnection
            if isInTask, state.connectionCalls != 0 { state.connectionCalls = nil }
            state.connectionCalls? += isInTask ? 1_000 : 1
            if let calls = state.connectionCalls, calls > 1_000 { state.connectionCalls = nil }
        }
    }

    /// Resets the count of calls, because all work is done. If the order of the last calls is unknown, the client's
    /// state decides whether the app wants a connection.
    func settled() {
        state.withLockedValue { state in
            if state.connectionCalls == nil, let pusher = state.pusher {
                state.wantsConnection = pusher.engine.machine.connection.isWanted
            }
            state.connectionCalls = 0
        }
    }

    func connect() {
        willAsk(forConnection: true)
        pusher?.connect()
    }

    func disconnect() {
        willAsk(forConnection: false)
        pusher?.disconnect()
    }

    func checkConnection() {
        ledger.called()
        pusher?.checkConnection()
    }

    func reconnectNow() {
        willAsk(forConnection: true)
        pusher?.reconnectNow()
    }

    func setWantsSignIn(_ wantsSignIn: Bool) { state.withLockedValue { $0.wantsSignIn = wantsSignIn } }

    // MARK: Channels

    func subscribe(_ name: String) {
        _ = state.withLockedValue { $0.held.insert(name) }
        ledger.wants(name)
        follow(pusher?.subscribe(name))
    }

    func unsubscribe(_ name: String) {
        forget { $0 == name }
        pusher?.unsubscribe(name)
        ledger.unsubscribed(name)
    }

    func unsubscribeAll() {
        let names = wanted
        forget { _ in true }
        pusher?.unsubscribeAll()
        for name in names { ledger.unsubscribed(name) }
    }

    /// Follows the members of a presence channel from its first subscription on.
    func follow(_ channel: PusherChannel?) {
        guard let channel = channel as? PusherPresenceChannel else { return }
        let name = channel.name
        let isNew = state.withLockedValue { state in
            guard state.followed[name]?.channel != ObjectIdentifier(channel) else { return false }
            state.followed[name] = Followed(channel: ObjectIdentifier(channel))
            return true
        }
        guard isNew else { return }
        let memberships = channel.memberships
        let identity = ObjectIdentifier(channel)
        let id = nextID()
        let task = Task { [weak self] in
            for await change in memberships { self?.follow(change, name, identity) }
            self?.ended(id)
        }
        state.withLockedValue { $0.followers.append(Reader(id: id, channel: name, task: task)) }
    }

    private func follow(_ change: MembershipChange, _ name: String, _ channel: ObjectIdentifier) {
        let problem = state.withLockedValue { state in
            state.followed[name]?.channel == channel ? state.followed[name]?.members.apply(change) : nil
        }
        if let problem { violations.add("\(name): \(problem)") }
    }

    private func forget(_ isMeant: (String) -> Bool) {
        state.withLockedValue { state in
            state.held = state.held.filter { !isMeant($0) }
            state.scopes = state.scopes.filter { !isMeant($0.key) }
            state.outcomes = state.outcomes.filter { !isMeant($0.key) }
            let ending = (state.readers + state.followers).filter { $0.channel.map(isMeant) ?? false }
            state.endingReaders.formUnion(ending.map(\.id))
            state.followed = state.followed.filter { !isMeant($0.key) }
            state.bindings.removeAll { $0.channel.map(isMeant) ?? false }
        }
    }
}

extension PusherClientError {
    /// Whether the error reports a client event that was not sent.
    fileprivate var isAboutClientEvent: Bool {
        message.contains("Client event") || code == .clientEventsNotAllowed
    }
}
