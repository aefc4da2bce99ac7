import NIOConcurrencyHelpers
import PusherClient

/// The app's callbacks and readers, and the calls that callbacks make.
extension SimulatedApplication {
    @discardableResult
    func bind(_ name: String?, event: String?, reaction: Action.Reaction? = nil) -> Int? {
        let id = nextID()
        let hasReacted = NIOLockedValueBox(reaction == nil)
        let callback: @Sendable (PusherEvent) -> Void = { [weak self] event in
            guard let self else { return }
            ledger.received(event, by: id)
            let isFirst = hasReacted.withLockedValue { hasReacted in
                defer { hasReacted = true }
                return !hasReacted
            }
            if isFirst, let reaction { react(reaction, id) }
        }
        guard let name else {
            guard let pusher else { return nil }
            ledger.add(ExpectingHandler(channel: nil, event: event, isSequence: false), id: id)
            add(Binding(id: id, channel: nil, observation: pusher.observe(named: event, callback)))
            return id
        }
        guard let channel = channel(name) else { return nil }
        ledger.add(ExpectingHandler(channel: name, event: event, isSequence: false), id: id)
        add(Binding(id: id, channel: name, observation: channel.observe(named: event, callback)))
        return id
    }

    private func add(_ binding: Binding) {
        state.withLockedValue { state in
            state.bindings.append(binding)
            state.observations.append(binding.observation)
        }
    }

    func unbind(_ index: Int) {
        let binding = state.withLockedValue { state -> Binding? in
            state.bindings.isEmpty ? nil : state.bindings.remove(at: index % state.bindings.count)
        }
        guard let binding else { return }
        binding.observation.cancel()
        ledger.setStage(.ended, of: binding.id)
    }

    private func unbind(id: Int) {
        let index = state.withLockedValue { state in state.bindings.firstIndex { $0.id == id } }
        if let index { unbind(index) }
    }

    private func react(_ reaction: Action.Reaction, _ id: Int) {
        guard state.withLockedValue({ $0.isReacting }) else { return }
        state.withLockedValue { $0.reactionCount += 1 }
        switch reaction {
        case .unbindItself, .connect, .trigger: break
        case .unsubscribe(let name), .subscribe(let name), .resubscribe(let name): ledger.reacted(to: name)
        case .disconnect, .reconnect, .unsubscribeAll: ledger.reacted(to: nil)
        }
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
        let task = Task { [weak self] in
            for await event in events { ledger.received(event, by: id) }
            self?.ended(id)
        }
        state.withLockedValue { $0.readers.append(Reader(id: id, channel: name, task: task)) }
        return id
    }

    func stopReading(_ index: Int) {
        let reader = state.withLockedValue { state -> Reader? in
            guard !state.readers.isEmpty else { return nil }
            let reader = state.readers.remove(at: index % state.readers.count)
            state.countdowns[reader.id] = nil
            return reader
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
