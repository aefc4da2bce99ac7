import Foundation
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// Tests with the dialect of Reverb, and with JSON as Laravel 12 sends it.
@Suite("Laravel", .limited, .overEachTransport)
struct LaravelTests {
    let world: VirtualWorld

    init() {
        var options = PusherTestServer.Options()
        options.dialect = .reverb
        world = VirtualWorld(options)
    }

    struct OrderShipped: Decodable, Equatable, Sendable {
        struct Order: Decodable, Equatable, Sendable {
            var id: Int
            var status: String
            var total: String
            var shippedAt: Date
        }
        var order: Order
    }

    /// The public properties of `class OrderShipped { public function __construct(public Order $order) {} }`. Laravel
    /// writes the date with microseconds, and PHP escapes slashes and characters outside of ASCII.
    static let orderShipped = #"""
        {"order":{"id":7,"status":"shipped","total":"19.90","note":"caf\u00e9 \/ bar","shipped_at":"2026-11-23T10:15:30.000000Z","created_at":"2026-11-23T10:00:00.000000Z","updated_at":"2026-11-23T10:15:30.000000Z"}}
        """#

    private var options: PusherClientOptions {
        let options = PusherClientOptions.virtual()
        options.decoding.keys = .convertFromSnakeCase
        options.decoding.dates = .iso8601WithFractions
        return options
    }

    private func subscribed(_ name: String, _ pusher: Pusher) async throws -> PusherChannel {
        let channel = pusher.subscribe(name)
        await world.runUntil { channel.subscribed }
        return channel
    }

    private func first<Value: Sendable>(
        _ sequence: some AsyncSequence<Value, Never> & Sendable
    ) async throws -> Value? {
        try await world.complete {
            for await value in sequence { return value }
            return nil
        }
    }

    // MARK: Names

    @Test(
        "the name of an event follows Echo's rule",
        arguments: [
            ("OrderShipped", "App.Events", #"App\Events\OrderShipped"#),
            ("Shipping.OrderShipped", "App.Events", #"App\Events\Shipping\OrderShipped"#),
            (#"Shipping\OrderShipped"#, "App.Events", #"App\Events\Shipping\OrderShipped"#),
            (".order.shipped", "App.Events", "order.shipped"),
            (#"\Shop\Events\Paid"#, "App.Events", #"Shop\Events\Paid"#),
            ("Paid", #"Shop\Events"#, #"Shop\Events\Paid"#),
            ("Shop.Paid", "", #"Shop\Paid"#),
            ("", "App.Events", #"App\Events\"#),
            (".", "App.Events", ""),
        ]
    )
    func names(event: String, namespace: String, name: String) {
        #expect(LaravelEvent.name(of: event, in: namespace) == name)
    }

    // MARK: Events

    @Test("listen gets an event by its class, with dates and names as Laravel writes them")
    func listen() async throws {
        let pusher = try await world.makeConnectedClient(options)
        let channel = try await subscribed("private-orders.7", pusher)
        let shipped = channel.listen("OrderShipped", as: OrderShipped.self)
        try world.server.publish(event: #"App\Events\OrderShipped"#, data: Self.orderShipped, to: channel.name)
        let order = try #require(try await first(shipped)?.order)
        #expect(order.id == 7 && order.status == "shipped" && order.total == "19.90")
        #expect(order.shippedAt == Date(timeIntervalSince1970: 1_795_428_930))
    }

    @Test("listen gets an event with broadcastAs, an event of another namespace, and an event without data")
    func otherNames() async throws {
        let pusher = try await world.makeConnectedClient(options)
        let channel = try await subscribed("orders", pusher)
        let named = channel.listen(".order.shipped", as: OrderShipped.self)
        let other = channel.listen("Paid", as: [String: Int].self, namespace: #"Shop\Events"#)
        let empty = channel.listen("Ping")
        // PHP writes an empty array for an event without public properties.
        try world.server.publish(event: #"App\Events\Ping"#, data: "[]", to: "orders")
        try world.server.publish(event: "order.shipped", data: Self.orderShipped, to: "orders")
        try world.server.publish(event: #"Shop\Events\Paid"#, data: #"{"id":3}"#, to: "orders")
        #expect(try await first(named)?.order.id == 7)
        #expect(try await first(other) == ["id": 3])
        #expect(try await first(empty)?.data == "[]")
    }

    @Test("listen gets the changes of a model by the model's name")
    func model() async throws {
        struct PostUpdated: Decodable, Sendable {
            struct Post: Decodable, Sendable {
                var id: Int
                var title: String
            }
            var model: Post
        }
        let pusher = try await world.makeConnectedClient(options)
        let channel = try await subscribed("private-App.Models.Post.1", pusher)
        let updated = channel.listen(".PostUpdated", as: PostUpdated.self)
        let data = #"""
            {"model":{"id":1,"title":"Hello","created_at":"2026-11-23T10:00:00.000000Z","updated_at":"2026-11-23T10:00:01.000000Z"},"connection":null,"queue":null,"afterCommit":null}
            """#
        try world.server.publish(event: "PostUpdated", data: data, to: channel.name)
        #expect(try await first(updated)?.model.title == "Hello")
    }

    @Test("notifications have the data, the id and the type of the notification")
    func notifications() async throws {
        struct InvoicePaid: Decodable, Equatable, Sendable {
            var id: String
            var type: String
            var invoiceId: Int
            var amount: Int
        }
        let pusher = try await world.makeConnectedClient(options)
        let channel = try await subscribed("private-App.Models.User.7", pusher)
        let notifications = channel.notifications(as: InvoicePaid.self)
        let data = #"""
            {"invoice_id":12,"amount":1990,"id":"9d6f2c7e-0a3c-4f0c-8a55-0b3fb3f6a3f1","type":"App\\Notifications\\InvoicePaid"}
            """#
        try world.server.publish(
            event: #"Illuminate\Notifications\Events\BroadcastNotificationCreated"#,
            data: data,
            to: channel.name
        )
        let paid = try #require(try await first(notifications))
        #expect(paid.type == #"App\Notifications\InvoicePaid"# && paid.invoiceId == 12 && paid.amount == 1_990)
    }

    // MARK: Whispers

    struct Typing: Codable, Equatable, Sendable { var name: String }

    @Test("a whisper arrives as a client event with its sender, and not at the sender itself")
    func whisper() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "1"))
        let other = try await world.makeConnectedClient(.virtual(user: "2"))
        let mine = try await subscribed("presence-room", pusher)
        let theirs = try await subscribed("presence-room", other)
        let own = Log<PusherEvent>()
        mine.bind(eventName: "client-typing") { own.append($0) }
        let whispers = theirs.listenForWhisper("typing", as: Typing.self)
        mine.whisper("typing", data: Typing(name: "ada"))
        let heard = try #require(try await first(whispers))
        #expect(heard.value == Typing(name: "ada"))
        #expect(heard.event.eventName == "client-typing")
        #expect(heard.event.userId == "1")
        #expect(own.count == 0)
    }

    @Test("a whisper on a channel that is not subscribed is dropped without an error")
    func earlyWhisper() async throws {
        let pusher = try await world.makeConnectedClient()
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("private-chat")
        channel.whisper("typing", data: Typing(name: "ada"))
        await world.runUntil { channel.subscribed }
        await world.run()
        #expect(world.server.receivedMessages().allSatisfy { !$0.contains("client-typing") })
        #expect(delegate.errors.count == 0)
    }

    // MARK: The member list

    @Test("a numeric user id, and PHP's list in the place of an object, become a member with a text id")
    func members() async throws {
        let data = #"{"user_id":0,"user_info":{"id":0,"name":"Ada"}}"#
        let authorizer = AuthMethod.authorizer { [server = world.server] request in
            let channel = request.channelName
            let signed = server.authorization(forSocket: request.socketID, channel: channel, channelData: data)
            return PusherAuth(auth: signed.auth, channelData: data)
        }
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: authorizer))
        let room = pusher.subscribeToPresenceChannel(channelName: "presence-chat.1")
        await world.runUntil { room.subscribed }
        #expect(world.server.records.contains { $0.description.contains(#"\"hash\":[{"#) })
        #expect(room.members.map(\.userId) == ["0"])
    }
}
