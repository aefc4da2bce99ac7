import ClientTestSupport
import Dispatch
import NIOCore
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Limits: resources that a server uses", .limited, .overEachTransport)
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

    @Test("the client shortens and reports a list of members that is too long, and keeps its own member")
    func memberList() async throws {
        let (pusher, channel) = try await join(.init(members: 3))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        await world.endHolding()
        var memberships = channel.memberships.makeAsyncIterator()
        let me = try #require(channel.myId)
        sendList((1...10).map { "\($0)" } + [me])
        await world.run()
        #expect(channel.members.map(\.userId) == ["1", "2", me])
        #expect(channel.me() != nil)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyMembers])
        #expect(delegate.errors.elements.first?.clientError.channelName == "presence-a")
        #expect(delegate.errors.elements.first?.message.contains("11 members") == true)
        // The list is still full, and the client reports this once for each subscription.
        sendMember("12")
        await world.run()
        #expect(delegate.errors.count == 1)
        guard case .replaced(let members, let added, _)? = await memberships.next() else {
            Issue.record("no list was reported")
            return
        }
        #expect(members.map(\.userId) == ["1", "2", me])
        #expect(added.map(\.userId) == ["1", "2"])
    }

    @Test("the client handles all messages of one read before the next read")
    func oneRead() async throws {
        let pusher = try await world.makeConnectedClient()
        let received = Log<PusherEvent>()
        pusher.bind { received.append($0) }
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let engine = pusher.engine
        let server = world.server
        // The first events have more bytes than the messages that the machine receives together. Over HTTP, 15,000 events
        // take too long.
        let count = world.transport == .webSocket ? 15_000 : 3_000
        for _ in 1...2 {
            try await world.atOnce {
                server.sendText(#"{"event":"pusher:ping","data":{}}"#)
                for _ in 1...count { server.sendText(#"{"event":"a"}"#) }
            }
            // No time passes.
            await world.run()
            #expect(try await world.atOnce { engine.resources.effects } == 0)
        }
        #expect(received.count == 2 * count)
        #expect(delegate.errors.count == 0)
    }

    @Test("the client ignores members beyond the limit, and reports the limit once")
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
        // After a member has left, one new member is within the limit.
        sendMember("1", isAdded: false)
        sendMember("11")
        sendMember("12")
        await world.run()
        #expect(told.elements == ["+1", "+2", "-1", "+11"])
        #expect(delegate.errors.count == 1)
        // A new list replaces the members.
        sendList([try #require(channel.myId)])
        for id in 1...3 { sendMember("\(id)") }
        await world.run()
        #expect(told.elements.suffix(2) == ["+1", "+2"])
        #expect(delegate.errors.count == 2)
    }

    @Test("the limit on a message's size also limits the memory of all members")
    func memberSize() async throws {
        let (pusher, channel) = try await join(.init(messageSize: 10_000))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let long = String(repeating: "x", count: 4_000)
        for id in 1...5 { sendMember("\(id)", info: long) }
        await world.run()
        #expect(channel.members.count == 3)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyMembers])
        // The limit also applies to new data of present members. Members who leave free their memory.
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
    }

    @Test("the limit on a message's size also limits the members of a list", .ofWebSocketOnly)
    func listSize() async throws {
        let (pusher, channel) = try await join(.init(messageSize: 10_000))
        // This list is larger than a message may be, so a real transport would not deliver it.
        sendList((1...5).map { "\($0)" }, info: String(repeating: "x", count: 4_000))
        await world.run()
        // The list lacks the client's own member, who stays.
        #expect(channel.members.map(\.userId).dropLast() == ["1", "2"])
        #expect(channel.members.last?.userId == channel.myId)
        withExtendedLifetime(pusher) {}
    }

    @Test("a member keeps the old data if new data exceeds the limit, and the error says so")
    func grownMember() async throws {
        let (pusher, channel) = try await join(.init(messageSize: 10_000))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        sendMember("1", info: "short")
        sendMember("2", info: String(repeating: "x", count: 8_000))
        for _ in 1...2 { sendMember("1", info: String(repeating: "x", count: 8_000)) }
        await world.run()
        #expect(channel.findMember(userId: "1")?.userInfo as? String == "short")
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyMembers])
        #expect(delegate.errors.elements.first?.message.contains("a member of \"presence-a\" stays as before") == true)
    }

    @Test("the client ignores watched users beyond the limit, and reports them once for each connection")
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
        var changes = pusher.user.watchlist.events.makeAsyncIterator()
        await send("online", ["1", "2", "2", "3", "4", "5"])
        #expect(pusher.user.watchlist.online == ["1", "2", "3"])
        // The event still contains all users that the server sent.
        #expect(await changes.next()?.userIds.count == 6)
        await send("online", ["6", "1"])
        await send("offline", ["1", "5"])
        #expect(pusher.user.watchlist.online == ["2", "3"])
        await send("offline", ["2", "3"])
        await send("online", [String(repeating: "x", count: 600)])
        await send("online", [String(repeating: "y", count: 401)])
        #expect(pusher.user.watchlist.online.count == 1)
        await send("online", [String(repeating: "y", count: 400)])
        #expect(pusher.user.watchlist.online.count == 2)
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyMembers])
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        await world.runUntil { pusher.user.isSignedIn }
        await send("online", ["1", "2", "3", "4"])
        #expect(delegate.errors.elements.count { $0.clientError.code == .tooManyMembers } == 2)
    }

    @Test("errors contain shortened messages and names, even if one character has the length of a message")
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

    @Test("the client does not accept a socket id that is too long")
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

    @Test("the client limits changes of state that wait for a queue, and delivers the last state")
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
        // Each loss causes four changes of state and one error. The client kept ten changes and ten errors.
        #expect(codes.last?.message.contains("Callbacks dropped") == true)
    }

    @Test("outcomes of subscriptions displace no change of state, and the delegate gets reports of drops")
    func outcomes() async throws {
        let queue = DispatchQueue(label: "stopped")
        let pusher = world.makeClient(.virtual(limits: .init(pendingCallbacks: 10), callbackQueue: .queue(queue)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        queue.suspend()
        let channels = (1...100).map { pusher.subscribe("channel-\($0)") }
        pusher.connect()
        await world.runUntil { channels.allSatisfy(\.subscribed) }
        queue.resume()
        func dropped() -> [String] {
            delegate.errors.elements.filter { $0.clientError.code == .eventsDropped }.map(\.message)
        }
        await world.runUntil { delegate.subscriptions.elements.last == "channel-100" }
        #expect(delegate.states.elements == [.connecting, .connected])
        await world.runUntil { dropped().last?.contains("has caught up") == true }
        #expect(dropped().count == 2)
    }
}
