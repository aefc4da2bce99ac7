import PusherClient
import TestSupport

/// The app in the examples on testing.
final class MyApp: Sendable {
    struct Order: Decodable, Sendable { let id: Int }

    private let pusher: Pusher
    private let orders: DecodedValueSequence<Order>

    init(host: String, port: Int, useTLS: Bool, key: String) {
        let options = PusherClientOptions(endpoint: PusherEndpoint(host: host, port: port, useTLS: useTLS))
        options.timeouts.subscription = .patience
        options.retryPolicy = .delays([.milliseconds(20)])
        pusher = Pusher(key: key, options: options)
        orders = pusher.subscribe("orders").values(named: "created", as: Order.self)
        pusher.connect()
    }

    /// The id of the next order that the app shows.
    func nextOrder() async -> Int? {
        for await order in orders { return order.id }
        return nil
    }
}
