import ClientTestSupport
import Dispatch
import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Back-pressure", .limited, .overEachTransport)
struct BackPressureTests {
    let world = VirtualWorld()

    /// The sources of the client's sequences.
    enum Source: String, CaseIterable, Sendable {
        case statuses, errors, clientEvents, clientEventsByName, channelEvents, decodedEvents, userEvents, memberships
        case decodedValues, resubscriptions, watchlist
    }

    /// A sequence whose element type does not matter.
    private struct Unread: Sendable {
        let droppedCount: @Sendable () -> Int
        /// Takes an element. The test must not take more elements than the sequence has.
        let take: @Sendable () async -> Bool

        init<Element>(_ sequence: EventSequence<Element>) {
            droppedCount = { sequence.droppedCount }
            take = { await sequence.first { _ in true } != nil }
        }

        init<Value: Sendable>(_ sequence: DecodedEventSequence<Value>) {
            droppedCount = { sequence.droppedCount }
            take = { await sequence.first { _ in true } != nil }
        }

        init<Value: Sendable>(_ sequence: DecodedValueSequence<Value>) {
            droppedCount = { sequence.droppedCount }
            take = { await sequence.first { _ in true } != nil }
        }
    }

    private struct Channels {
        let plain: PusherChannel
        let presence: PusherPresenceChannel
    }

    private func makeUnread(_ source: Source, _ pusher: Pusher, _ channels: Channels) -> Unread {
        switch source {
        case .statuses: Unread(pusher.statuses)
        case .errors: Unread(pusher.errors)
        case .clientEvents: Unread(pusher.events)
        case .clientEventsByName: Unread(pusher.events(named: "e"))
        case .channelEvents: Unread(channels.plain.events)
        case .decodedEvents: Unread(channels.plain.events(named: "e", as: Int.self))
        case .userEvents: Unread(pusher.user.events)
        case .memberships: Unread(channels.presence.memberships)
        case .resubscriptions: Unread(channels.plain.resubscriptions)
        case .decodedValues: Unread(channels.plain.values(named: "e", as: Int.self))
        case .watchlist: Unread(pusher.user.watchlist.events)
        }
    }

    /// Makes the server cause ten elements or more.
    ///
    /// - Returns: The number of elements that the sequence gets.
    private func cause(_ source: Source, _ channels: Channels, round: Int) async throws -> Int {
        switch source {
        case .statuses, .resubscriptions:
            for _ in 1...10 {
                world.network.cutLinks()
                await world.advance(by: .seconds(1))
                await world.runUntil { channels.plain.subscribed }
            }
            // Each reconnect has three statuses: waiting, connecting, connected.
            return source == .statuses ? 1 + 10 * 3 : 10
        case .errors:
            for _ in 1...10 { world.server.sendText("no message") }
        case .clientEvents, .clientEventsByName, .channelEvents, .decodedEvents, .decodedValues:
            for number in 1...10 { try world.server.publish(event: "e", data: "\(number)", to: "plain") }
        case .userEvents:
            for number in 1...10 { try world.server.publish(event: "e", data: "\(number)", toUser: "ada") }
        case .memberships:
            for id in 1...10 {
                let data = #"{"user_id":"\#(round).\#(id)"}"#
                world.server.sendEvent("pusher_internal:member_added", data: data, channel: "presence-a")
            }
        case .watchlist:
            let data = #"{"events":[{"name":"online","user_ids":["bob"]}]}"#
            for _ in 1...10 { world.server.sendEvent("pusher_internal:watchlist_events", data: data) }
        }
        await world.run()
        return 10
    }

    @Test(
        "a sequence that nobody reads keeps the newest events, and reports how many it drops",
        .notOverPolling,
        arguments: Source.allCases
    )
    func unread(source: Source) async throws {
        let secret = world.server.options.application.secret
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(
            .virtual(
                authMethod: .inline(secret: secret, encryptionMasterKey: world.server.options.encryptionMasterKey),
                userAuthMethod: .inline(secret: secret) { #"{"id":"ada"}"# },
                limits: .init(sequenceBuffer: 3),
                logger: lines.logger(.warning)
            )
        )
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channels = Channels(
            plain: pusher.subscribe("plain"),
            presence: pusher.subscribeToPresenceChannel(channelName: "presence-a")
        )
        try await world.complete { try await pusher.signedIn() }
        for channel in [channels.plain, channels.presence] {
            await world.runUntil { channel.subscribed }
        }
        await world.endHolding()
        let sequence = makeUnread(source, pusher, channels)
        let count = try await cause(source, channels, round: 1)
        await world.advance(by: ClientEngine.stallTime)
        #expect(sequence.droppedCount() == count - 3)
        // The client reports the drops together, by one error and one line of the log.
        #expect(delegate.errors.elements.count { $0.clientError.code == .eventsDropped } == 1)
        #expect(lines.messages.count { $0.contains("more slowly than") } == 1)
        for _ in 1...3 { #expect(await sequence.take()) }
        // The client reports new drops after the test has read all elements.
        _ = try await cause(source, channels, round: 2)
        await world.advance(by: ClientEngine.stallTime)
        #expect(delegate.errors.elements.count { $0.clientError.code == .eventsDropped } == 2)
        #expect(sequence.droppedCount() > count - 3)
        #expect(pusher.statistics.events.dropped[.sequenceOverflow] == sequence.droppedCount())
        #expect(pusher.connection.connectionState == .connected)
    }

    enum Queue: CaseIterable { case own, main, mainBesideLoop }

    @Test(
        "a callback that blocks its queue does not delay pings, sequences or calls",
        arguments: Queue.allCases
    )
    func blockingHandler(queue: Queue) async throws {
        let callbackQueue: PusherClientOptions.CallbackQueue =
            switch queue {
            case .own: .queue(DispatchQueue(label: "callbacks"))
            case .main: .main
            case .mainBesideLoop: .eventLoop
            }
        let pusher = try await world.makeConnectedClient(
            .virtual(activityTimeout: 5, limits: .init(pendingCallbacks: 10), callbackQueue: callbackQueue)
        )
        let channel = pusher.subscribe("orders")
        await world.runUntil { channel.subscribed }
        let isLetGo = DispatchSemaphore(value: 0)
        // The queue must continue even if an expectation fails.
        defer { isLetGo.signal() }
        let entered = Log<String>()
        let left = Log<String>()
        let handle: @Sendable (String) -> Void = { data in
            entered.append(data)
            if data == "0" { isLetGo.wait() }
            left.append(data)
        }
        let observation: EventObservation
        if case .mainBesideLoop = queue {
            observation = channel.observe(named: "e", on: MainActor.shared) { handle($0.data ?? "") }
        } else {
            observation = channel.observe(named: "e") { handle($0.data ?? "") }
        }
        defer { observation.cancel() }
        var events = channel.events(named: "e").makeAsyncIterator()
        var errors = pusher.errors.makeAsyncIterator()
        try world.server.publish(event: "e", data: "0", to: "orders")
        await world.runUntil { entered.count == 1 }
        #expect(await events.next()?.data == "0")

        let other = pusher.subscribe("others")
        try await world.complete { try await other.subscribed() }
        let before = world.server.receivedMessages().count
        for number in 1...100 {
            world.server.sendPing()
            try world.server.publish(event: "e", data: "\(number)", to: "orders")
            await world.run()
            // The client waits only once for the callback.
            if number == 11 { await world.advance(by: ClientEngine.stallTime) }
            #expect(await events.next()?.data == "\(number)")
        }
        let answers = world.server.receivedMessages().dropFirst(before)
        #expect(answers.count { $0.contains("pusher:pong") } == 100)
        // The client sends its own pings, and their answers count as activity.
        await world.advance(by: .seconds(5))
        #expect(world.server.receivedMessages().last?.contains("pusher:ping") == true)
        await world.advance(by: .seconds(60))
        #expect(pusher.connection.connectionState == .connected)
        #expect(await errors.next()?.code == .eventsDropped)
        #expect(left.elements.isEmpty)

        isLetGo.signal()
        let outcome = await errors.next()
        #expect(outcome?.code == .eventsDropped)
        #expect(outcome?.message.hasPrefix("Callbacks dropped: 90.") == true)
        #expect(left.elements == ["0"] + (91...100).map { "\($0)" })
    }
}
