import Foundation
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Options for decoding", .limited, .overEachTransport)
struct DecodingOptionsTests {
    let world = VirtualWorld()

    private struct Order: Decodable, Equatable {
        var orderId: Int
        var createdAt: Date
    }

    private struct Info: Decodable {
        var fullName: String
    }

    private static let text = #"{"order_id":1,"created_at":"2001-01-01T00:00:05Z"}"#
    private static let order = Order(orderId: 1, createdAt: Date(timeIntervalSinceReferenceDate: 5))

    @Test("the client's options apply to events, to members and to the user's data")
    func options() async throws {
        let options = PusherClientOptions.virtual(user: "ada", info: #"{"full_name":"Ada"}"#)
        options.decoding = JSONDecodingOptions(keys: .convertFromSnakeCase, dates: .iso8601)
        let pusher = try await world.makeConnectedClient(options)
        pusher.signIn()
        let room = pusher.subscribe("presence-room")
        await world.runUntil { room.subscribed && pusher.user.isSignedIn }
        var orders = room.values(named: "created", as: Order.self).makeAsyncIterator()
        var events = room.events(named: "created").makeAsyncIterator()
        let observed = Log<Order>()
        let observation = room.observe(named: "created", as: Order.self) { observed.append($0.value) }
        try world.server.publish(event: "created", data: Self.text, to: "presence-room")
        await world.run()
        #expect(await orders.next() == Self.order)
        #expect(try await events.next()?.decode(as: Order.self) == Self.order)
        #expect(observed.elements == [Self.order])
        let member = try #require((room as? PusherPresenceChannel)?.me())
        #expect(try member.decodeUserInfo(as: Info.self).fullName == "Ada")
        #expect(try pusher.user.decodeUserData(as: [String: AnyValue].self)["id"] != nil)
        observation.cancel()
    }

    private struct AnyValue: Decodable {
        init(from decoder: any Decoder) {}
    }

    @Test("an error for data that does not fit names the event, the channel and the place")
    func place() async throws {
        struct List: Decodable { var orders: [Info] }
        let event = PusherEvent(eventName: "created", channelName: "orders", data: #"{"orders":[{},{"fullName":5}]}"#)
        let missing = #expect(throws: PusherClientError.self) { try event.decode(as: List.self) }
        #expect(missing?.eventName == "created" && missing?.channelName == "orders")
        let reason = #"it does not fit 'List', because the member "fullName" is missing at "orders[0]"."#
        #expect(missing?.message.contains(reason) == true)
    }
}
