import Foundation
import NIOConcurrencyHelpers
import PusherClient

/// A program that uses the client: its calls, what it has bound, and the tasks that wait.
final class SimulatedApplication: Sendable {
    struct State: Sendable {
        var pusher: Pusher?
        var delegate: SimulatedDelegate?
        /// Whether the last call asked for a connection, or for its end.
        var wantsConnection = false
        var wantsSignIn = false
        /// The channels that were subscribed to.
        var held: Set<String> = []
        /// The tasks that subscribe to a channel for as long as they last.
        var scopes: [String: Set<Int>] = [:]
        var lastID = 0
        /// The callback that is called with everything.
        var witness: Int?
        var bindings: [Binding] = []
        var readers: [Reader] = []
        /// They read on for as long as the client lives.
        var followers: [Reader] = []
        var followed: [String: Followed] = [:]
        /// Tasks that wait for something.
        var waits: [Int: Task<Void, Never>] = [:]
        var connectionState = ConnectionState.disconnected
        var lastStatus: ConnectionStatus?
        /// For each channel, what was told of it last.
        var outcomes: [String: Outcome] = [:]
        var errorCount = 0
        /// Whether callbacks may call the client.
        var isReacting = true
    }

    struct Binding: Sendable {
        var id: Int
        var channel: String?
        var unbind: @Sendable () -> Void
    }

    struct Reader: Sendable {
        var id: Int
        var channel: String?
        var task: Task<Void, Never>
    }

    /// A presence channel, and who is said to be on it.
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

    init(ledger: WireLedger, violations: Violations) {
        self.ledger = ledger
        self.violations = violations
    }

    var pusher: Pusher? { state.withLockedValue { $0.pusher } }

    func channel(_ name: String) -> PusherChannel? { pusher?.connection.channels.find(name: name) }

    /// The channels that have to be subscribed.
    var wanted: Set<String> {
        state.withLockedValue { state in state.held.union(state.scopes.filter { !$0.value.isEmpty }.keys) }
    }

    var waitCount: Int { state.withLockedValue { $0.waits.count } }

    private func nextID() -> Int {
        state.withLockedValue { state in
            state.lastID += 1
            return state.lastID
        }
    }

    // MARK: The client

    /// - Parameter number: Which of the clients it is.
    func use(_ pusher: Pusher, number: Int) {
        let delegate = SimulatedDelegate(self)
        pusher.delegate = delegate
        let claims = WireLedger.Claims(
            isConnected: { [weak pusher] in pusher?.connection.connectionState == .connected },
            isSubscribed: { [weak pusher] in pusher?.connection.channels.find(name: $0)?.subscribed == true }
        )
        ledger.replaceClient(claims, number)
        state.withLockedValue { state in
            state.pusher = pusher
            state.delegate = delegate
            state.connectionState = .disconnected
            state.lastStatus = nil
        }
        let statuses = pusher.statuses
        let errors = pusher.errors
        let reports = Task { [weak self, weak pusher] in
            for await error in errors where pusher != nil && error.isAboutClientEvent {
                self?.ledger.state.withLockedValue { $0.accounts.reported += 1 }
            }
        }
        let (id, reportsID) = (nextID(), nextID())
        let task = Task { [weak self, weak pusher] in
            for await status in statuses {
                // What is said in farewell is not about the client that there is now.
                guard let pusher, self?.pusher === pusher else { continue }
                self?.state.withLockedValue { $0.lastStatus = status }
            }
        }
        state.withLockedValue { state in
            state.followers = [
                Reader(id: id, channel: nil, task: task), Reader(id: reportsID, channel: nil, task: reports),
            ]
        }
        bindWitness(pusher)
    }

    /// One callback is called with everything.
    private func bindWitness(_ pusher: Pusher) {
        let id = nextID()
        let ledger = ledger
        ledger.add(ExpectingHandler(channel: nil, event: nil, isSequence: false), id: id)
        pusher.bind { event in
            let number = EventNumber.read(event.data)
            if number != nil, let channel = event.channelName {
                ledger.state.withLockedValue { $0.accounts.settledEncrypted(on: channel) }
            }
            ledger.received(number, on: event.channelName, by: id)
        }
        state.withLockedValue { $0.witness = id }
    }

    /// Lets go of the client, and of everything that has to do with it.
    func dropClient() {
        let (bindings, readers, witness) = state.withLockedValue { ($0.bindings, $0.readers, $0.witness) }
        if let witness { ledger.setStage(.dropped, of: witness) }
        // Tasks that wait hold the client for a moment longer.
        for binding in bindings { ledger.setStage(.dropped, of: binding.id) }
        for reader in readers { ledger.setStage(.dropped, of: reader.id) }
        ledger.replaceClient(nil, nil)
        let dropped = state.withLockedValue { state in
            let pusher = state.pusher
            state.pusher = nil
            state.delegate = nil
            state.held = []
            state.scopes = [:]
            state.bindings = []
            state.readers = []
            state.followers = []
            state.followed = [:]
            state.outcomes = [:]
            state.wantsConnection = false
            state.wantsSignIn = false
            return pusher
        }
        // Released outside the lock: that is a call of the client.
        withExtendedLifetime(dropped) {}
        for task in state.withLockedValue({ Array($0.waits.values) }) { task.cancel() }
    }

    // MARK: Connecting

    func connect() {
        state.withLockedValue { $0.wantsConnection = true }
        pusher?.connect()
    }

    func disconnect() {
        state.withLockedValue { $0.wantsConnection = false }
        pusher?.disconnect()
    }

    func reconnectNow() {
        state.withLockedValue { $0.wantsConnection = true }
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
        let task = Task { [weak self] in
            for await change in memberships { self?.follow(change, name, identity) }
        }
        let id = nextID()
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
            state.followed = state.followed.filter { !isMeant($0.key) }
            state.bindings.removeAll { $0.channel.map(isMeant) ?? false }
        }
    }

    // MARK: Handlers

    @discardableResult
    func bind(_ name: String?, event: String?, reaction: Action.Reaction? = nil) -> Int? {
        let id = nextID()
        let hasReacted = NIOLockedValueBox(reaction == nil)
        let callback: @Sendable (PusherEvent) -> Void = { [weak self] event in
            guard let self else { return }
            ledger.received(EventNumber.read(event.data), on: event.channelName, by: id)
            let isFirst = hasReacted.withLockedValue { hasReacted in
                defer { hasReacted = true }
                return !hasReacted
            }
            if isFirst, let reaction { react(reaction, id) }
        }
        guard let name else {
            guard let pusher else { return nil }
            ledger.add(ExpectingHandler(channel: nil, event: event, isSequence: false), id: id)
            add(Binding(id: id, channel: nil, unbind: Self.bind(pusher, event, callback)))
            return id
        }
        guard let channel = channel(name) else { return nil }
        ledger.add(ExpectingHandler(channel: name, event: event, isSequence: false), id: id)
        add(Binding(id: id, channel: name, unbind: Self.bind(channel, event, callback)))
        return id
    }

    private func add(_ binding: Binding) { state.withLockedValue { $0.bindings.append(binding) } }

    private static func bind(
        _ channel: PusherChannel,
        _ event: String?,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) -> @Sendable () -> Void {
        guard let event else {
            let id = channel.bind(eventCallback: callback)
            return { [weak channel] in channel?.unbind(callbackId: id) }
        }
        let id = channel.bind(eventName: event, eventCallback: callback)
        return { [weak channel] in channel?.unbind(eventName: event, callbackId: id) }
    }

    private static func bind(
        _ pusher: Pusher,
        _ event: String?,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) -> @Sendable () -> Void {
        guard let event else {
            let id = pusher.bind(eventCallback: callback)
            return { [weak pusher] in pusher?.unbind(callbackId: id) }
        }
        let id = pusher.bind(eventName: event, eventCallback: callback)
        return { [weak pusher] in pusher?.unbind(eventName: event, callbackId: id) }
    }

    func unbind(_ index: Int) {
        let binding = state.withLockedValue { state -> Binding? in
            state.bindings.isEmpty ? nil : state.bindings.remove(at: index % state.bindings.count)
        }
        guard let binding else { return }
        binding.unbind()
        ledger.setStage(.ended, of: binding.id)
    }

    private func unbind(id: Int) {
        let index = state.withLockedValue { state in state.bindings.firstIndex { $0.id == id } }
        if let index { unbind(index) }
    }

    private func react(_ reaction: Action.Reaction, _ id: Int) {
        guard state.withLockedValue({ $0.isReacting }) else { return }
        ledger.reacted()
        switch reaction {
        case .unbindItself: unbind(id: id)
        case .unsubscribe(let name): unsubscribe(name)
        case .subscribe(let name): subscribe(name)
        case .resubscribe(let name): channel(name)?.resubscribe()
        case .disconnect: disconnect()
        case .connect: connect()
        case .reconnect: reconnectNow()
        case .trigger(let name): trigger(name)
        case .unsubscribeAll: unsubscribeAll()
        }
    }

    @discardableResult
    func read(_ name: String, event: String?) -> Int? {
        guard let channel = channel(name) else { return nil }
        let id = nextID()
        ledger.add(ExpectingHandler(channel: name, event: event, isSequence: true), id: id)
        let events = event.map { channel.events(named: $0) } ?? channel.events
        let ledger = ledger
        let task = Task {
            for await event in events { ledger.received(EventNumber.read(event.data), on: event.channelName, by: id) }
        }
        state.withLockedValue { $0.readers.append(Reader(id: id, channel: name, task: task)) }
        return id
    }

    func stopReading(_ index: Int) {
        let reader = state.withLockedValue { state -> Reader? in
            state.readers.isEmpty ? nil : state.readers.remove(at: index % state.readers.count)
        }
        guard let reader else { return }
        ledger.setStage(.dropped, of: reader.id)
        reader.task.cancel()
    }

    // MARK: Sending

    func trigger(_ name: String) {
        guard let channel = channel(name) else { return }
        ledger.state.withLockedValue { $0.accounts.triggered += 1 }
        channel.trigger(eventName: "client-note", data: ["n": ledger.nextNumber()])
    }
}

extension PusherClientError {
    /// Whether it says that a client event was not sent.
    fileprivate var isAboutClientEvent: Bool {
        message.contains("client event") || code == .clientEventsNotAllowed
    }
}
