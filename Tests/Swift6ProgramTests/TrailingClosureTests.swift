import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("Trailing closures of subscribe, in Swift 6 mode", .limited)
struct TrailingClosureTests {
    init() { DefaultLogger.silence() }

    private func client(of server: PusherTestServer, userId: String) -> Pusher {
        let endpoint = PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS)
        let options = PusherClientOptions(endpoint: endpoint)
        options.authMethod = .endpoint(server.url + "/pusher/auth", parameters: ["user_id": userId])
        options.callbackQueue = .eventLoop
        return Pusher(key: server.options.application.key, options: options)
    }

    @Test("closures with a member parameter get members, and closures with an event parameter get events")
    func closures() async throws {
        try await PusherTestServer.withServer { server in
            let (lines, writer) = AsyncStream.makeStream(of: String.self)
            let (pusher, guest) = (client(of: server, userId: "ada"), client(of: server, userId: "bob"))
            TrailingClosures.start(pusher) { writer.yield($0) }
            for name in ["presence-a", "presence-b", "presence-c", "presence-d", "orders", "news", "typed"] {
                try await server.waitForSubscription(to: name, timeout: .patience)
            }
            for name in ["presence-a", "presence-b", "presence-c", "presence-d"] { guest.subscribe(name) }
            guest.connect()
            try server.publish(event: "created", data: "7", to: "orders")
            try server.publish(event: "created", data: "8", to: "news")
            try server.publish(event: "created", data: "9", to: "typed")
            await lines.waitForAll(["event 7", "news 8", "typed created", "member bob", "somebody", "gone bob"])
            guest.disconnect()
            pusher.disconnect()
        }
    }
}
