import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("The event sources, and their common members", .limited, .overEachTransport)
struct EventSourceTests {
    let world = VirtualWorld()

    enum Owner: String, CaseIterable, Sendable {
        case client, channel, presenceChannel, user, watchlist
    }

    /// The ways to get events, with the names in the article "Receiving events".
    enum Form: String, CaseIterable, Sendable {
        case events
        case namedEvents = "events(named:)"
        case typedEvents = "events(named:as:)"
        case values = "values(named:as:)"
        case observe = "observe { }"
        case observeNamed = "observe(named:) { }"
        case observeTyped = "observe(named:as:) { }"
        case observeOnMain = "observe(on: MainActor.shared) { }"
        case observeNamedOnMain = "observe(named:on:) { }"
        case observeTypedOnMain = "observe(named:as:on:) { }"

        var isTyped: Bool {
            switch self {
            case .typedEvents, .values, .observeTyped, .observeTypedOnMain: true
            case .events, .namedEvents, .observe, .observeNamed, .observeOnMain, .observeNamedOnMain: false
            }
        }

        /// Whether this form gets only events of one name.
        var isNamed: Bool {
            switch self {
            case .events, .observe, .observeOnMain: false
            case .namedEvents, .typedEvents, .values, .observeNamed, .observeTyped, .observeNamedOnMain,
                .observeTypedOnMain:
                true
            }
        }
    }

    /// The server first sends one event with another name.
    @Test("every source of events delivers events in every form", arguments: Owner.allCases, Form.allCases)
    @MainActor func delivers(owner: Owner, form: Form) async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada", watchlist: #"["bob"]"#))
        let channel = pusher.subscribe("orders")
        let room = pusher.subscribeToPresenceChannel(channelName: "presence-a")
        try await world.complete { try await pusher.signedIn() }
        await world.runUntil { channel.isSubscribed && room.isSubscribed }
        if case .watchlist = owner {
            guard !form.isTyped else { return }
            let received = try await watch(form, pusher.user.watchlist)
            #expect(received == (form.isNamed ? ["online"] : ["offline", "online"]))
            return
        }
        let source: any PusherEventSource<PusherEvent> =
            switch owner {
            case .client: pusher
            case .channel: channel
            case .presenceChannel: room
            case .user, .watchlist: pusher.user
            }
        let received = try await receive(form, source) {
            for name in ["other", "e"] {
                switch owner {
                case .client, .channel: try world.server.publish(event: name, data: "7", to: "orders")
                case .presenceChannel: try world.server.publish(event: name, data: "7", to: "presence-a")
                case .user, .watchlist: try world.server.publish(event: name, data: "7", toUser: "ada")
                }
            }
        }
        #expect(received == (form.isNamed ? ["e 7"] : ["other 7", "e 7"]))
    }

    @MainActor
    private func receive(
        _ form: Form,
        _ source: some PusherEventSource<PusherEvent>,
        after publish: () throws -> Void
    ) async throws -> [String] {
        let received = Log<String>()
        let count = form.isNamed ? 1 : 2
        let write: @Sendable (PusherEvent) -> Void = { received.append("\($0.eventName) \($0.data ?? "")") }
        let writeTyped: @Sendable (TypedEvent<Int>) -> Void = { received.append("\($0.event.eventName) \($0.value)") }
        var observation: EventObservation?
        switch form {
        case .events, .namedEvents:
            let events = form == .events ? source.events : source.events(named: "e")
            try publish()
            await world.run()
            var iterator = events.makeAsyncIterator()
            for _ in 0..<count { await iterator.next().map(write) }
            return received.elements
        case .typedEvents:
            let events = source.events(named: "e", as: Int.self)
            try publish()
            await world.run()
            var iterator = events.makeAsyncIterator()
            await iterator.next().map(writeTyped)
            return received.elements
        case .values:
            let values = source.values(named: "e", as: Int.self)
            try publish()
            await world.run()
            var iterator = values.makeAsyncIterator()
            return await iterator.next().map { ["e \($0)"] } ?? []
        case .observe: observation = source.observe(write)
        case .observeNamed: observation = source.observe(named: "e", write)
        case .observeTyped: observation = source.observe(named: "e", as: Int.self, writeTyped)
        case .observeOnMain: observation = source.observe(on: .shared) { write($0) }
        case .observeNamedOnMain: observation = source.observe(named: "e", on: .shared) { write($0) }
        case .observeTypedOnMain: observation = source.observe(named: "e", as: Int.self, on: .shared) { writeTyped($0) }
        }
        try publish()
        await world.runUntil { received.count == count }
        observation?.cancel()
        // The server publishes again, but no event may arrive after the cancellation.
        let all = received.elements
        try publish()
        await world.run()
        #expect(received.elements == all)
        return all
    }

    @MainActor
    private func watch(_ form: Form, _ watchlist: PusherWatchlist) async throws -> [String] {
        let received = Log<String>()
        let write: @Sendable (WatchlistEvent) -> Void = { received.append($0.name) }
        func send() async {
            for name in ["offline", "online"] {
                let data = #"{"events":[{"name":"\#(name)","user_ids":["bob"]}]}"#
                world.server.sendEvent("pusher_internal:watchlist_events", data: data)
            }
            await world.run()
        }
        var observation: EventObservation?
        switch form {
        case .events, .namedEvents:
            let events = form == .events ? watchlist.events : watchlist.events(named: "online")
            await send()
            var iterator = events.makeAsyncIterator()
            for _ in 0..<(form.isNamed ? 1 : 2) { await iterator.next().map(write) }
            return received.elements
        case .observe: observation = watchlist.observe(write)
        case .observeNamed: observation = watchlist.observe(named: "online", write)
        case .observeOnMain: observation = watchlist.observe(on: .shared) { write($0) }
        case .observeNamedOnMain: observation = watchlist.observe(named: "online", on: .shared) { write($0) }
        // The events of the watchlist already have a type, so the watchlist has no typed forms.
        case .typedEvents, .values, .observeTyped, .observeTypedOnMain: return []
        }
        await send()
        await world.runUntil { received.count == (form.isNamed ? 1 : 2) }
        observation?.cancel()
        let all = received.elements
        await send()
        #expect(received.elements == all)
        return all
    }

    @Test("typed events in sequences and callbacks contain the sender")
    func senders() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let room = pusher.subscribe("presence-a")
        await world.runUntil { room.isSubscribed }
        let called = Log<String?>()
        let observation = room.observe(named: "client-a", as: Int.self) { called.append($0.userId) }
        var events = room.events(named: "client-a", as: Int.self).makeAsyncIterator()
        world.server.sendText(#"{"event":"client-a","channel":"presence-a","data":"1","user_id":"bob"}"#)
        await world.run()
        let event = await events.next()
        #expect(event?.userId == "bob")
        #expect(event?.value == 1)
        #expect(event?.event.channelName == "presence-a")
        #expect(called.elements == ["bob"])
        observation.cancel()
    }
}

/// A type like those in a module whose default isolation is the main actor.
@MainActor private struct MainActorOrder: @MainActor Decodable {
    let id: Int

    init(from decoder: any Decoder) throws {
        MainActor.assertIsolated("decoded on the main actor")
        id = try decoder.singleValueContainer().decode(Int.self)
    }
}

@Suite("Types that belong to the main actor", .limited, .overEachTransport)
@MainActor
struct MainActorTypeTests {
    let world = VirtualWorld()

    @Test("sequences and callbacks on the main actor decode types that belong to the main actor")
    func decoding() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        var ids: [Int] = []
        let observation = channel.observe(named: "e", as: MainActorOrder.self, on: .shared) { ids.append($0.value.id) }
        let values = channel.values(named: "e", as: MainActorOrder.self)
        let events = channel.events(named: "e", as: MainActorOrder.self)
        try world.server.publish(event: "e", data: "7", to: "orders")
        await world.runUntil { ids.count == 1 }
        for await value in values {
            #expect(value.id == 7)
            break
        }
        for await event in events {
            #expect(event.value.id == 7)
            break
        }
        #expect(ids == [7])
        observation.cancel()
    }
}
