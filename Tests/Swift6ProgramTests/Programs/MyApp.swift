import PusherClient
import TestSupport

/// The app that the examples on testing test.
final class MyApp: Sendable {
    struct Order: Decodable, Sendable { let id: Int }

    private let pusher: Pusher
    private let orders: DecodedEventSequence<Order>

    init(host: String, port: Int, useTLS: Bool, key: String) {
        pusher = Pusher(
            key: key,
            options: PusherClientOptions(
                host: .host(host),
                port: port,
                useTLS: useTLS,
                timeouts: .init(subscription: .patience),
                retryPolicy: .delays([.milliseconds(20)])
            )
        )
        orders = pusher.subscribe("orders").events(named: "created", as: Order.self)
        pusher.connect()
    }

    /// The id of the next order that the app shows.
    func nextOrder() async -> Int? {
        for await order in orders { return order.id }
        return nil
    }
}
