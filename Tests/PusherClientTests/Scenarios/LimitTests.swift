import Dispatch
import NIOCore
import PusherTestServer
import Testing

@testable import PusherClient

@Suite("Limits: what a server makes grow", .timeLimit(.minutes(5)))
struct ServerLimitTests {
    let world = VirtualWorld()

    private func join(_ limits: PusherClientOptions.Limits) async throws -> (Pusher, PusherPresenceChannel) {
        let method = AuthMethod.inline(secret: world.server.options.application.secret)
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: method, limits: limits))
        let channel = pusher.subscribeToPresenceChannel(channelName: "presence-a")
        await world.runUntil { channel.subscribed }
        return (pusher, channel)
    }

    private func sendList(_ ids: [String], info: String = "") {
        let ids = ids.map { #""\#($0)""# }
        let hash = ids.map { #"\#($0):{"a":"\#(info)"}"# }.joined(separator: ",")
        let list = #"{"presence":{"count":\#(ids.count),"ids":[\#(ids.joined(separator: ","))],"hash":{\#(hash)}}}"#
        world.server.sendText(
            #"{"event":"pusher_internal:subscription_succeeded","channel":"presence-a","data":\#(list)}"#
        )
    }

    private func sendMember(_ id: String, isAdded: Bool = true, info: String = "") {
        let event = isAdded ? "member_added" : "member_removed"
        let data = #"{"user_id":"\#(id)","user_info":"\#(info)"}"#
        world.server.sendText(#"{"event":"pusher_internal:\#(event)","channel":"presence-a","data":\#(data)}"#)
    }

    @Test("a list of members that is too long is cut and reported; one's own member stays in it")
    func memberList() async throws {
        let (pusher, channel) = try await join(.init(members: 3))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        var memberships = channel.memberships.makeAsyncIterator()
        let me = try #require(channel.myId)
        sendList((1...10).map { "\($0)" } + [me])
        await world.run()
        #expect(channel.members.map(\.userId) == ["1", "2", me])
        #expect(channel.me() != nil)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyMembers])
        #expect(delegate.errors.elements.first?.clientError.channelName == "presence-a")
        #expect(delegate.errors.elements.first?.message.contains("11 members") == true)
        guard case .replaced(let members, let added, _)? = await memberships.next() else {
            Issue.record("no list was told")
            return
        }
        #expect(members.map(\.userId) == ["1", "2", me])
        #expect(added.map(\.userId) == ["1", "2"])
    }

    @Test("members for whom there is no room are neither kept nor told, and that is reported once")
    func membersWhoCome() async throws {
        let (pusher, channel) = try await join(.init(members: 3))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let told = Log<String>()
        channel.onMemberAdded = { told.append("+\($0.userId)") }
        channel.onMemberRemoved = { told.append("-\($0.userId)") }
        for id in 1...10 { sendMember("\(id)") }
        sendMember("10", isAdded: false)
        await world.run()
        #expect(told.elements == ["+1", "+2"])
        #expect(channel.members.count == 3)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyMembers])
        // Where there is room again, somebody else has it.
        sendMember("1", isAdded: false)
        sendMember("11")
        sendMember("12")
        await world.run()
        #expect(told.elements == ["+1", "+2", "-1", "+11"])
        #expect(delegate.errors.count == 1)
        // A list says anew who is there.
        sendList([try #require(channel.myId)])
        for id in 1...3 { sendMember("\(id)") }
        await world.run()
        #expect(told.elements.suffix(2) == ["+1", "+2"])
        #expect(delegate.errors.count == 2)
    }

    @Test("members take no more memory than one message, however few they are")
    func memberSize() async throws {
        let (pusher, channel) = try await join(.init(messageSize: 10_000))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let long = String(repeating: "x", count: 4_000)
        for id in 1...5 { sendMember("\(id)", info: long) }
        await world.run()
        #expect(channel.members.count == 3)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyMembers])
        // Those who are there already may not grow beyond it either, and make room when they go.
        sendMember("1", info: long + long)
        await world.run()
        #expect(channel.findMember(userId: "1")?.userInfo as? String == long)
        sendMember("1", isAdded: false)
        sendMember("6", info: long)
        sendMember("6", info: "short")
        sendMember("7", info: long)
        await world.run()
        #expect(Set(channel.members.map(\.userId)).isSuperset(of: ["2", "6", "7"]))
        #expect(channel.findMember(userId: "6")?.userInfo as? String == "short")
        sendList((1...5).map { "\($0)" }, info: long)
        await world.run()
        #expect(channel.members.map(\.userId) == ["1", "2"])
    }

    @Test("more watched users than may be are left out and reported, once for each connection")
    func watchlist() async throws {
        let method = UserAuthMethod.inline(secret: world.server.options.application.secret) { #"{"id":"ada"}"# }
        let pusher = try await world.makeConnectedClient(
            .virtual(userAuthMethod: method, limits: .init(messageSize: 1_000, members: 3))
        )
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        try await world.complete { try await pusher.signedIn() }
        func send(_ name: String, _ ids: [String]) async {
            let event = #"{"name":"\#(name)","user_ids":["\#(ids.joined(separator: #"",""#))"]}"#
            world.server.sendText(#"{"event":"pusher_internal:watchlist_events","data":{"events":[\#(event)]}}"#)
            await world.run()
        }
        var changes = pusher.user.watchlist.changes.makeAsyncIterator()
        await send("online", ["1", "2", "2", "3", "4", "5"])
        #expect(pusher.user.watchlist.online == ["1", "2", "3"])
        // What is told is what the server said.
        #expect(await changes.next()?.userIDs.count == 6)
        await send("online", ["6", "1"])
        await send("offline", ["1", "5"])
        await send("online", [String(repeating: "x", count: 999)])
        #expect(pusher.user.watchlist.online == ["2", "3"])
        await send("online", [String(repeating: "x", count: 998)])
        #expect(pusher.user.watchlist.online.count == 3)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyMembers])
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        await world.runUntil { pusher.user.isSignedIn }
        await send("online", ["1", "2", "3", "4"])
        #expect(delegate.errors.elements.count { $0.clientError.code == .tooManyMembers } == 2)
    }

    @Test("texts and names of a server are cut in errors, also where one character is as long as a message")
    func errorTexts() async throws {
        let long = "e" + String(repeating: "\u{301}", count: 100_000)
        world.server.failConnections(1, with: .firstMessage(#"{"event":"\#(long)","data":{}}"#))
        let delegate = RecordingDelegate()
        let pusher = world.makeClient()
        pusher.delegate = delegate
        pusher.connect()
        await world.advance(by: .seconds(15))
        await world.advance(by: .seconds(1))
        try #require(pusher.connection.connectionState == .connected)
        for data in [#"{"code":4301,"message":"\#(long)"}"#, #"{"code":null,"message":"\#(long)"}"#, "{}"] {
            world.server.sendText(#"{"event":"pusher:error","channel":"\#(long)","data":\#(data)}"#)
            world.server.sendText(#"{"event":"pusher:error","data":\#(data)}"#)
        }
        for event in ["pusher:subscription_error", "pusher_internal:subscription_error"] {
            let data = #"{"type":"AuthError","error":"\#(long)","status":401}"#
            world.server.sendText(#"{"event":"\#(event)","channel":"\#(long)","data":\#(data)}"#)
        }
        await world.run()
        let errors = delegate.errors.elements.map(\.clientError)
        #expect(errors.count >= 9)
        for error in errors {
            #expect(error.message.utf8.count < 1_500)
            #expect(error.description.utf8.count < 3_000)
            #expect(error.channelName?.utf8.count ?? 0 <= 200)
        }
    }

    @Test("a socket id of any length is none")
    func socketID() async throws {
        let id = String(repeating: "12.", count: 67)
        let data = #"{"socket_id":"\#(id)","activity_timeout":30}"#
        world.server.failConnections(
            1,
            with: .firstMessage(#"{"event":"pusher:connection_established","data":\#(data)}"#)
        )
        let pusher = world.makeClient()
        pusher.connect()
        await world.run()
        #expect(pusher.connection.socketId == nil)
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("changes that wait for a queue are bounded too; the last one is that of the state, and the loss is reported")
    func changes() async throws {
        let queue = DispatchQueue(label: "stopped")
        let pusher = try await world.makeConnectedClient(
            .virtual(limits: .init(pendingCallbacks: 10), callbackQueue: .queue(queue))
        )
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let errors = pusher.errors
        queue.suspend()
        for _ in 1...20 {
            world.network.cutLinks()
            await world.advance(by: .seconds(1))
        }
        #expect(pusher.connection.connectionState == .connected)
        queue.resume()
        queue.sync {}
        await world.runUntil { delegate.states.count >= 10 }
        queue.sync {}
        #expect(delegate.states.count == 10)
        #expect(delegate.states.elements.last == .connected)
        var codes: [PusherClientError] = []
        var iterator = errors.makeAsyncIterator()
        while codes.count(where: { $0.code == .eventsDropped }) < 2, let error = await iterator.next() {
            codes.append(error)
        }
        // Four changes of the state for each loss, of which ten were kept; and for each loss one error, ten kept.
        #expect(codes.last?.message.contains("callbacks were dropped") == true)
    }
}

@Suite("Limits: what an application makes grow", .timeLimit(.minutes(5)))
struct ApplicationLimitTests {
    let world = VirtualWorld()

    @Test(
        "a channel too many is refused, ends its sequences, and is told as any refusal",
        arguments: ["orders", "private-orders", "presence-orders"]
    )
    func channels(name: String) async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(channels: 2)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        for number in 1...2 { pusher.subscribe("channel-\(number)") }
        await world.run()
        let before = world.server.receivedMessages().count
        let channel = pusher.subscribe(name)
        #expect((channel is PusherPresenceChannel) == (name == "presence-orders"))
        for await _ in channel.events { Issue.record("an event of a channel that is refused") }
        for await _ in channel.resubscriptions { Issue.record("an event of a channel that is refused") }
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(error?.kind == .tooManyChannels)
        #expect(pusher.connection.channels.channels.count == 2)
        #expect(pusher.connection.channels.find(name: name) == nil)
        // The delegate is told on the event loop.
        await world.run()
        #expect(delegate.subscriptionErrors.elements.map(\.kind) == [.tooManyChannels])
        let work = try await world.complete {
            await pusher.withChannel(name) { channel in channel.name }
        }
        #expect(work == name)
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        #expect(!world.server.receivedMessages().dropFirst(before).contains { $0.contains(#""\#(name)""#) })
        // One that is there already is not one more, and what goes makes room.
        #expect(pusher.subscribe("channel-1").fault == nil)
        pusher.unsubscribe("channel-1")
        let other = pusher.subscribe(name)
        await world.runUntil { other.subscribed }
        #expect(other !== channel)
    }

    enum Target: String, CaseIterable { case client, channel, user, watchlist }

    @Test("a callback too many is not bound, and reported; what is unbound makes room", arguments: Target.allCases)
    func bindings(target: Target) async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(bindings: 3)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        await world.run()
        let calls = Log<Int>()
        func bind(_ number: Int) -> String {
            switch target {
            case .client: pusher.bind(eventName: "e") { _ in calls.append(number) }
            case .channel: channel.bind(eventName: "e") { _ in calls.append(number) }
            case .user: pusher.user.bind(eventName: "e") { _ in calls.append(number) }
            case .watchlist: pusher.user.watchlist.bind(eventName: "e") { _ in calls.append(number) }
            }
        }
        func unbind(_ id: String) {
            switch target {
            case .client: pusher.unbind(eventName: "e", callbackId: id)
            case .channel: channel.unbind(eventName: "e", callbackId: id)
            case .user: pusher.user.unbind(eventName: "e", callbackId: id)
            case .watchlist: pusher.user.watchlist.unbind(callbackId: id)
            }
        }
        func call() async {
            let event = PusherEvent(eventName: "e")
            switch target {
            case .client: pusher.engine.deliverAgain(event, to: pusher.engine.everyEvent)
            case .channel: pusher.engine.deliverAgain(event, to: channel.sinks)
            case .user: pusher.engine.deliverAgain(event, to: pusher.engine.userEvents)
            case .watchlist:
                let engine = pusher.engine
                engine.eventLoop.execute { engine.watchlistChanged(WatchlistEvent(name: "e", userIDs: [])) }
            }
            await world.run()
        }
        let ids = (1...5).map { bind($0) }
        #expect(Set(ids).count == 5)
        await call()
        #expect(calls.take() == [1, 2, 3])
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyBindings, .tooManyBindings])
        // Of a callback that was never bound there is nothing to unbind, and it makes no room.
        unbind(ids[4])
        unbind(ids[0])
        _ = bind(6)
        _ = bind(7)
        await call()
        #expect(calls.take() == [2, 3, 6])
        #expect(delegate.errors.count == 3)
        switch target {
        case .client: pusher.unbindAll()
        case .channel: channel.unbindAll()
        case .user: pusher.user.unbindAll()
        case .watchlist: pusher.user.watchlist.unbindAll()
        }
        for number in 8...10 { _ = bind(number) }
        await call()
        #expect(calls.take() == [8, 9, 10])
        #expect(delegate.errors.count == 3)
    }

    @Test("callbacks of all kinds count together, and sequences do not")
    func bindingsOfAllKinds() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(bindings: 4)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        let sequences = (1...10).map { _ in channel.events }
        channel.bind { _ in }
        channel.bind(eventName: "e", as: Int.self) { _ in }
        channel.bindOnMain { _ in }
        let observation = channel.observe { _ in }
        await world.run()
        #expect(delegate.errors.count == 0)
        channel.bindOnMain(eventName: "e") { _ in }
        await world.run()
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyBindings])
        withExtendedLifetime((sequences, observation)) {}
    }
}
