import PusherClient
import PusherObservation

enum PusherObservationSamples {
    private struct Order: Decodable { var id: Int }

    @MainActor
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    static func make() -> [any Sendable] {
        let options = PusherClientOptions(endpoint: PusherEndpoint(host: "ws.test", port: 1))
        options.authMethod = .inline(secret: "hush")
        let pusher = Pusher(key: "app-key", options: options)
        let channel = pusher.subscribe("a")
        return [
            ObservableConnection(pusher),
            ObservableRoom(pusher.subscribeToPresenceChannel(channelName: "presence-a")),
            LatestValue("created", as: Order.self, from: channel),
            RecentValues("created", as: Order.self, from: channel),
        ]
    }
}
