import PusherClient

/// A screen of an app whose declarations belong to the main actor by default, as in a new project of Xcode.
package final class Screen {
    private let pusher: Pusher
    private var texts: [String] = []

    package init(key: String, host: String, port: Int) {
        pusher = Pusher(
            key: key,
            options: PusherClientOptions(
                endpoint: PusherEndpoint(host: host, port: port, useTLS: false),
                authMethod: .endpoint("http://\(host):\(port)/pusher/auth")
            )
        )
        pusher.delegate = self
    }

    /// Shows texts until the first event of the channel has come, and returns them.
    package func show() async throws -> [String] {
        let channel = pusher.subscribe("private-orders")
        let (received, continuation) = AsyncStream.makeStream(of: Void.self)
        channel.bindOnMain(eventName: "created") { [weak self] event in
            self?.texts.append(event.data ?? "")
            continuation.finish()
        }
        try await pusher.connected()
        for await _ in received {}
        await pusher.disconnected()
        return texts
    }
}

extension Screen: @preconcurrency PusherDelegate {
    package func subscribedToChannel(name: String) {
        texts.append("subscribed to \(name)")
    }
}
