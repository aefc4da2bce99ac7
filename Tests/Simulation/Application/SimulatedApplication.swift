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
        var bindings: [Binding] = []
        var readers: [Reader] = []
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
        let id = nextID()
        let task = Task { [weak self, weak pusher] in
            for await status in statuses {
                // What is said in farewell is not about the client that there is now.
                guard let pusher, self?.pusher === pusher else { continue }
                self?.state.withLockedValue { $0.lastStatus = status }
            }
        }
        state.withLockedValue { $0.readers.append(Reader(id: id, channel: nil, task: task)) }
    }

    /// Lets go of the client, and of everything that has to do with it.
    func dropClient() {
        let (bindings, readers) = state.withLockedValue { ($0.bindings, $0.readers) }
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
        pusher?.subscribe(name)
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

    private func forget(_ isMeant: (String) -> Bool) {
        state.withLockedValue { state in
            state.held = state.held.filter { !isMeant($0) }
            state.scopes = state.scopes.filter { !isMeant($0.key) }
            state.outcomes = state.outcomes.filter { !isMeant($0.key) }
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
            // The first one reads the statuses.
            guard state.readers.count > 1 else { return nil }
            return state.readers.remove(at: 1 + index % (state.readers.count - 1))
        }
        guard let reader else { return }
        ledger.setStage(.dropped, of: reader.id)
        reader.task.cancel()
    }

    // MARK: Sending

    func trigger(_ name: String) {
        channel(name)?.trigger(eventName: "client-note", data: EventNumber.text(ledger.nextNumber()))
    }
}
