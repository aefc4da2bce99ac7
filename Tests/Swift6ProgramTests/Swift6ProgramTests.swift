import ClientTestSupport
import Dispatch
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("Programs in Swift 6 mode, with PusherSwift's names", .limited)
struct Swift6ProgramTests {
    init() { DefaultLogger.silence() }

    @Test(
        "a screen of the main actor gets events on the main actor, with the main callback queue or another queue",
        arguments: [false, true]
    )
    @MainActor
    func screen(hasQueueOfItsOwn: Bool) async throws {
        try await PusherTestServer.withServer { server in
            let (lines, writer) = AsyncStream.makeStream(of: String.self)
            let options = PusherClientOptions(
                authMethod: .endpoint(server.url + "/pusher/auth", parameters: ["user_id": "ada"]),
                host: .host(server.host),
                port: server.port,
                useTLS: false,
                userAuthMethod: .endpoint(server.url + "/pusher/user-auth", parameters: ["user_id": "ada"]),
                callbackQueue: hasQueueOfItsOwn ? .queue(DispatchQueue(label: "own")) : .main
            )
            let screen = Screen(options: options, key: server.options.application.key) { writer.yield($0) }
            // A delegate of the main actor needs the main queue, so a client with another queue gets another delegate.
            let recorder = Recorder { writer.yield($0) }
            if hasQueueOfItsOwn { screen.pusher.delegate = recorder }
            screen.viewDidLoad()
            let subscribed = hasQueueOfItsOwn ? "recorded" : "subscribed to"
            await lines.waitForAll([
                "\(subscribed) my-channel", "\(subscribed) presence-room", "user pusher:signin_success",
            ])
            try await server.waitForSubscription(to: "#server-to-user-ada", timeout: .patience)
            try server.publish(event: "my-event", data: "1", to: "my-channel")
            try server.publish(event: "typed", data: #"{"value":2.5}"#, to: "my-channel")
            try server.publish(event: "note", data: "3", toUser: "ada")
            await lines.waitForAll([
                "event 1", "anywhere my-channel", "title my-event", "price 2.5", "note 3", "user note",
            ])
            let guest = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: .endpoint(server.url + "/pusher/auth", parameters: ["user_id": "bob"]),
                    host: .host(server.host),
                    port: server.port,
                    useTLS: false
                )
            )
            guest.subscribe("presence-room")
            guest.connect()
            await lines.waitForAll(["members 2"])
            guest.disconnect()
            screen.close()
            if !hasQueueOfItsOwn { await lines.waitForAll(["disconnecting to disconnected"]) }
        }
    }

    @Test("authorizers and request builders are Sendable, and work with callbacks on the event loop")
    func authorizers() async throws {
        try await PusherTestServer.withServer { server in
            let authorizer = TokenAuthorizer { socketID, channelName in
                PusherAuth(auth: server.authorization(forSocket: socketID, channel: channelName).auth)
            }
            let builder = try #require(TokenRequestBuilder(url: server.url + "/pusher/auth", token: "t"))
            for method in [
                AuthMethod.authorizer(authorizer: authorizer), .authRequestBuilder(authRequestBuilder: builder),
            ] {
                let (lines, writer) = AsyncStream.makeStream(of: String.self)
                let recorder = Recorder { writer.yield($0) }
                let pusher = Pusher(
                    key: server.options.application.key,
                    options: PusherClientOptions(
                        authMethod: method,
                        host: .host(server.host),
                        port: server.port,
                        useTLS: false,
                        callbackQueue: .eventLoop
                    )
                )
                pusher.delegate = recorder
                let channel = pusher.subscribe("private-a")
                pusher.connect()
                await lines.waitForAll(["recorded private-a"])
                try await channel.subscribed()
                await pusher.disconnected()
            }
            #expect(server.authorizationRequests.last?.header("Authorization") == "Bearer t")
        }
    }
}

extension AsyncStream<String> {
    /// Waits until each of the lines has arrived.
    func waitForAll(_ expected: Set<String>) async {
        var missing = expected
        for await line in self {
            missing.remove(line)
            if missing.isEmpty { return }
        }
        Issue.record("missing: \(missing)")
    }
}
