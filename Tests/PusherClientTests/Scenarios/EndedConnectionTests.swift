import ClientTestSupport
import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Callbacks after the end of a connection", .limited, .overEachTransport)
struct EndedConnectionTests {
    /// The calls with which an app ends a connection.
    enum End: String, CaseIterable, Sendable {
        case disconnect, disconnectAndConnect, reconnectNow, switchTo

        func call(_ pusher: Pusher) {
            switch self {
            case .disconnect: pusher.disconnect()
            case .disconnectAndConnect:
                pusher.disconnect()
                pusher.connect()
            case .reconnectNow: pusher.reconnectNow()
            case .switchTo: try? pusher.switchTo(endpoint: .soketi(host: "second.test", useTLS: false))
            }
        }
    }

    let world = VirtualWorld()
    let queue = DispatchQueue(label: "callbacks")

    private func publish(_ numbers: Range<Int>) async throws {
        try await world.atOnce { [server = world.server] in
            for number in numbers { try server.publish(event: "e", data: "\(number)", to: "orders") }
            server.sendEvent("f", channel: "orders")
        }
        await world.run()
    }

    @Test(
        "no callback for an event begins after a callback has ended the connection",
        arguments: End.allCases,
        [true, false]
    )
    func ended(end: End, onQueue: Bool) async throws {
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: onQueue ? .queue(queue) : .eventLoop))
        let calls = Log<String>()
        let channel = pusher.subscribe("orders")
        channel.bind(eventName: "e") { [weak pusher] event in
            calls.append("first \(event.data ?? "")")
            if event.data == "0" { pusher.map { end.call($0) } }
        }
        channel.bind(eventName: "e") { calls.append("second \($0.data ?? "")") }
        pusher.bind(eventName: "f") { _ in calls.append("client") }
        await world.runUntil { channel.subscribed }
        let events = channel.events(named: "e")
        queue.sync {}
        queue.suspend()
        try await publish(0..<20)
        queue.resume()
        queue.sync {}
        await world.run()
        #expect(calls.take() == ["first 0"])
        // A sequence keeps the events that it has.
        var iterator = events.makeAsyncIterator()
        for number in 0..<(onQueue ? 20 : 1) { #expect(await iterator.next()?.data == "\(number)") }
        // The callbacks of the next connection begin.
        pusher.connect()
        await world.advance(by: .seconds(1))
        await world.runUntil { channel.subscribed }
        try await publish(20..<21)
        await world.runUntil { calls.count == 3 }
        #expect(calls.elements == ["first 20", "second 20", "client"])
    }

    @Test("no callback for an event begins after a callback has released the client", arguments: [true, false])
    func released(onQueue: Bool) async throws {
        let calls = Log<String>()
        let kept = NIOLockedValueBox<Pusher?>(nil)
        do {
            let pusher = world.makeUnheldClient(.virtual(callbackQueue: onQueue ? .queue(queue) : .eventLoop))
            pusher.connect()
            let channel = pusher.subscribe("orders")
            channel.bind(eventName: "e") { event in
                calls.append(event.data ?? "")
                _ = kept.withLockedValue { kept in
                    defer { kept = nil }
                    return kept
                }
            }
            await world.runUntil { channel.subscribed }
            kept.withLockedValue { $0 = pusher }
        }
        queue.sync {}
        queue.suspend()
        try await publish(0..<20)
        queue.resume()
        queue.sync {}
        await world.run()
        #expect(calls.elements == ["0"])
    }

    @Test("no closure for a member begins after another closure has disconnected")
    func members() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let calls = Log<String>()
        let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
        await world.runUntil { room.subscribed }
        room.onMemberAdded = { [weak pusher] member in
            calls.append(member.userId)
            pusher?.disconnect()
        }
        try await world.atOnce { [server = world.server] in
            for id in ["bob", "eve"] {
                let data = #"{\"user_id\":\"\#(id)\"}"#
                server.sendText(
                    #"{"event":"pusher_internal:member_added","channel":"presence-room","data":"\#(data)"}"#
                )
            }
        }
        await world.run()
        #expect(calls.elements == ["bob"])
    }

    @Test(
        "no callback for an event of the user begins after a callback has signed the user out",
        arguments: [true, false]
    )
    func signedOut(onQueue: Bool) async throws {
        let queueOption = PusherClientOptions.CallbackQueue.queue(queue)
        let pusher = try await world.makeConnectedClient(
            PusherClientOptions(
                host: .host("server.test"),
                useTLS: false,
                userAuthMethod: .endpoint(
                    AuthEndpoint(VirtualWorld.userEndpoint, parameters: .init(["user_id": "ada"]))
                ),
                callbackQueue: onQueue ? queueOption : .eventLoop,
                logger: .quiet
            )
        )
        let calls = Log<String>()
        pusher.user.bind(eventName: "bill") { [weak pusher] event in
            calls.append("user \(event.data ?? "")")
            pusher?.signOut()
        }
        pusher.user.bind(eventName: "bill") { calls.append("second \($0.data ?? "")") }
        let channel = pusher.subscribe("orders")
        channel.bind(eventName: "e") { calls.append("channel \($0.data ?? "")") }
        try await world.complete { try await pusher.signedIn() }
        await world.runUntil { channel.subscribed }
        queue.sync {}
        queue.suspend()
        try await world.atOnce { [server = world.server] in
            for number in 0..<5 { try server.publish(event: "bill", data: "\(number)", toUser: "ada") }
            try server.publish(event: "e", data: "7", to: "orders")
        }
        await world.run()
        queue.resume()
        queue.sync {}
        await world.runUntil { calls.count >= 2 }
        #expect(calls.elements == ["user 0", "channel 7"])
    }

    @Test("no callback of the watchlist begins after another has disconnected")
    func watchlist() async throws {
        let pusher = try await world.makeConnectedClient()
        let calls = Log<String>()
        pusher.user.watchlist.bind(eventName: "online") { [weak pusher] _ in
            calls.append("first")
            pusher?.disconnect()
        }
        pusher.user.watchlist.bind(eventName: "online") { _ in calls.append("second") }
        let engine = pusher.engine
        engine.eventLoop.execute { engine.watchlistChanged(WatchlistEvent(name: "online", userIds: ["bob"])) }
        await world.run()
        #expect(calls.elements == ["first"])
    }

    @Test("changes of the state are reported after disconnect() in a callback")
    func states() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: .queue(queue)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        pusher.bind { [weak pusher] _ in pusher?.disconnect() }
        world.server.sendEvent("e")
        await world.runUntil { delegate.states.count == 2 }
        #expect(delegate.states.elements == [.disconnecting, .disconnected])
    }
}
