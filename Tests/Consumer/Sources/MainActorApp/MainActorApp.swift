import PusherClient

/// A screen of an app whose declarations belong to the main actor by default. New Xcode projects have this setting.
package final class Screen {
    private let pusher: Pusher
    private var texts: [String] = []
    private var observation: EventObservation?

    /// An order. The conformance to `Decodable` belongs to the main actor.
    struct Order: Decodable, Sendable { let id: Int }

    package init(key: String, host: String, port: Int) {
        let options = PusherClientOptions(endpoint: PusherEndpoint(host: host, port: port, useTLS: false))
        options.authMethod = .endpoint("http://\(host):\(port)/pusher/auth")
        options.logLevel = .silent
        pusher = Pusher(key: key, options: options)
        pusher.delegate = self
    }

    /// Returns the lines that the screen shows until the channel's first event has arrived.
    package func show() async throws -> [String] {
        let channel = pusher.subscribe("private-orders")
        let orders = channel.values(named: "created", as: Order.self)
        let events = channel.events(named: "created", as: Order.self)
        let (received, continuation) = AsyncStream.makeStream(of: Void.self)
        observation = channel.observe(named: "created", as: Order.self, on: MainActor.shared) { [weak self] event in
            self?.texts.append(event.event.data ?? "")
            continuation.finish()
        }
        try await pusher.connected(timeout: .seconds(30))
        for await _ in received {}
        for await order in orders {
            for await event in events where event.value.id == order.id { break }
            break
        }
        await pusher.disconnected()
        return texts
    }
}

extension Screen: @preconcurrency PusherDelegate {
    package func subscribedToChannel(name: String) {
        texts.append("subscribed to \(name)")
    }
}
