import PusherClient

/// An app in Swift 6 mode, with structured concurrency and typed events.
package struct Swift6App: Sendable {
    private struct Order: Decodable, Sendable {
        let id: Int
    }

    private let pusher: Pusher

    package init(key: String, host: String, port: Int) {
        let options = PusherClientOptions(endpoint: PusherEndpoint(host: host, port: port, useTLS: false))
        options.authMethod = .endpoint("http://\(host):\(port)/pusher/auth")
        pusher = Pusher(key: key, options: options)
    }

    /// Returns the id of the first order, or nil if the sequence of orders ends first.
    package func firstOrder() async throws -> Int? {
        let channel = pusher.subscribe("private-orders")
        let orders = channel.values(named: "created", as: Order.self)
        return try await pusher.withConnection { _ in
            try await channel.subscribed()
            print("Swift 6 mode: subscribed to \(channel.name)")
            for await order in orders { return order.id }
            return nil
        }
    }
}
