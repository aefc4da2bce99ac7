import PusherClient
import PusherObservation
import PusherTestServer
import TestTraits
import Testing

@MainActor
@Suite("Observable objects", .limited)
struct ObservationTests {
    struct Price: Decodable, Equatable, Sendable { var amount: Int }

    // MARK: The connection

    @Test("the banner shows an outage with the seconds until the next attempt, and disappears afterwards")
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func banner() async throws {
        try await PusherTestServer.withServer { server in
            let options = PusherClientOptions(testing: server.access)
            options.logLevel = .silent
            options.retryPolicy = .delays([.seconds(3_600)])
            let pusher = Pusher(key: server.access.key, options: options)
            let connection = ObservableConnection(pusher)
            #expect(connection.banner == nil && connection.status == .initialized && !connection.isConnected)
            pusher.connect()
            await observe { connection.isConnected }
            #expect(connection.banner == nil && connection.secondsUntilNextAttempt == nil)
            server.dropConnections()
            await observe { connection.secondsUntilNextAttempt != nil }
            let seconds = try #require(connection.secondsUntilNextAttempt)
            #expect((3_000...3_600).contains(seconds))
            #expect(connection.banner == "No connection. Trying again in \(seconds) s.")
            #expect(!connection.isConnected)
            pusher.connect()
            await observe { connection.isConnected }
            #expect(connection.banner == nil && connection.secondsUntilNextAttempt == nil)
            pusher.disconnect()
            await observe { connection.status == .disconnected(reason: nil) }
            #expect(connection.banner == "Offline")
        }
    }

    @Test("the countdown changes once per second without another status")
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func countdown() async throws {
        try await PusherTestServer.withServer { server in
            let options = PusherClientOptions(testing: server.access)
            options.logLevel = .silent
            options.retryPolicy = .delays([.seconds(3_600)])
            let pusher = Pusher(key: server.access.key, options: options)
            let connection = ObservableConnection(pusher)
            server.failConnections(with: .refused(status: 503))
            pusher.connect()
            await observe { connection.secondsUntilNextAttempt != nil }
            let first = try #require(connection.secondsUntilNextAttempt)
            await observe { connection.secondsUntilNextAttempt ?? .max < first }
        }
    }

    @Test("the server's refusal is the text of the banner")
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func refusal() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(key: "wrong", options: PusherClientOptions(testing: server.access))
            let connection = ObservableConnection(pusher)
            pusher.connect()
            await observe { if case .refused = connection.status { true } else { false } }
            #expect(connection.banner == connection.status.reason?.message)
            #expect(connection.banner?.isEmpty == false)
        }
    }

    // MARK: Values

    @Test("the latest value begins with the initial value, follows the event, and skips data that is not decodable")
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func latest() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = server.makeClient()
            let channel = pusher.subscribe("prices")
            let price = LatestValue("changed", as: Price.self, from: channel, initial: Price(amount: 0))
            #expect(price.value == Price(amount: 0))
            pusher.connect()
            try await server.waitForSubscription(to: "prices")
            try server.publish(event: "changed", data: #"{"amount":1}"#, to: "prices")
            await observe { price.value == Price(amount: 1) }
            try server.publish(event: "changed", data: "?", to: "prices")
            try server.publish(event: "other", data: #"{"amount":7}"#, to: "prices")
            try server.publish(event: "changed", data: #"{"amount":2}"#, to: "prices")
            await observe { price.value != Price(amount: 1) }
            #expect(price.value == Price(amount: 2))
        }
    }

    @Test("the recent values are the last ones in their order, and none is missing")
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func recent() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = server.makeClient()
            let channel = pusher.subscribe("prices")
            let all = RecentValues("changed", as: Int.self, from: channel, limit: 1_000)
            let three = RecentValues("changed", as: Int.self, from: channel, limit: 3, initial: [-4, -3, -2, -1])
            let one = RecentValues("changed", as: Int.self, from: channel, limit: 0)
            #expect(three.values == [-3, -2, -1])
            pusher.connect()
            try await server.waitForSubscription(to: "prices")
            for number in 1...500 { try server.publish(event: "changed", data: "\(number)", to: "prices") }
            await observe { all.values.count == 500 && three.values.last == 500 && one.values == [500] }
            #expect(all.values == Array(1...500))
            #expect(three.values == [498, 499, 500])
        }
    }

    // MARK: People

    @Test("people keep their places, and those who join come last")
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func order() async throws {
        try await PusherTestServer.withServer { server in
            try server.join("zoe", in: "presence-room")
            try server.join("ben", in: "presence-room")
            let pusher = server.makeClient(userId: "ada")
            let room = ObservableRoom(pusher.subscribeToPresenceChannel(channelName: "presence-room"))
            #expect(room.members.isEmpty && room.me == nil)
            pusher.connect()
            await observe { room.members.count == 3 }
            let first = room.members.map(\.userId)
            #expect(Set(first) == ["zoe", "ben", "ada"])
            #expect(room.me?.userId == "ada" && room.myID == "ada")
            let abe = try server.join("abe", in: "presence-room", userInfo: #"{"name":"Abe"}"#)
            await observe { room.members.count == 4 }
            #expect(room.members.map(\.userId) == first + ["abe"])
            #expect(try room.members.last?.decodeUserInfo(as: [String: String].self) == ["name": "Abe"])
            // The server's next list may have another order. Somebody leaves and somebody joins meanwhile.
            server.failConnections(1, with: .refused(status: 503))
            server.dropConnections()
            abe.leave()
            try server.join("eve", in: "presence-room")
            await observe { room.members.contains { $0.userId == "eve" } }
            #expect(room.members.map(\.userId) == first + ["eve"])
        }
    }

    @Test("somebody who types is shown until the time is over, and until they leave")
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func typing() async throws {
        try await PusherTestServer.withServer { server in
            let clock = ManualClock()
            let ben = try server.join("ben", in: "presence-room")
            let eve = try server.join("eve", in: "presence-room")
            let pusher = server.makeClient(userId: "ada")
            let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            let room = ObservableRoom(channel, typingTimeout: .seconds(3), clock: clock)
            pusher.connect()
            await observe { room.members.count == 3 }
            try ben.send("client-typing")
            try eve.send("client-typing")
            await observe { room.typing.count == 2 }
            await wait { clock.sleeperCount == 2 }
            clock.advance(by: .seconds(2))
            // Another event starts the time again, and leaving ends it.
            try ben.send("client-typing")
            eve.leave()
            await observe { room.typing.map(\.userId) == ["ben"] }
            await wait { clock.sleepCount == 3 && clock.sleeperCount == 1 }
            clock.advance(by: .seconds(2))
            for _ in 1...10 { await Task.yield() }
            #expect(room.typing.map(\.userId) == ["ben"])
            clock.advance(by: .seconds(1))
            await observe { room.typing.isEmpty }
            #expect(room.members.map(\.userId).contains("ben"))
        }
    }

    // MARK: Life

    @Test("no object keeps the client alive, and the client keeps no object alive")
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func lifetimes() async throws {
        try await PusherTestServer.withServer { server in
            weak var client: Pusher?
            var objects: [AnyObject] = []
            do {
                let pusher = server.makeClient(userId: "ada")
                client = pusher
                let channel = pusher.subscribeToPresenceChannel(channelName: "presence-room")
                let room = ObservableRoom(channel)
                objects = [
                    ObservableConnection(pusher), room, LatestValue("e", as: Int.self, from: channel),
                    RecentValues("e", as: Int.self, from: channel),
                ]
                pusher.connect()
                await observe { room.members.count == 1 }
                #expect(client != nil)
            }
            #expect(client == nil)
            #expect(objects.count == 4)

            let pusher = server.makeClient()
            weak var connection: ObservableConnection?
            weak var room: ObservableRoom?
            do {
                let first = ObservableConnection(pusher)
                let second = ObservableRoom(pusher.subscribeToPresenceChannel(channelName: "presence-room"))
                (connection, room) = (first, second)
                pusher.connect()
                await observe { first.isConnected && second.members.count == 1 }
            }
            #expect(connection == nil && room == nil)
            #expect(pusher.state == .connected)
        }
    }

    /// Waits for tasks on the main actor.
    private func wait(until condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }
}
