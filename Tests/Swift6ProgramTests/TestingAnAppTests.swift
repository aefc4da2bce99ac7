import ClientTestSupport
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("The programs of the articles on the test server", .limited)
struct TestingAnAppTests {
    @Test("a client with the server's options subscribes to a private channel")
    func client() async throws {
        try await PusherTestServer.withServer(options: TestingAnApp.secured()) { server in
            let pusher = TestingAnApp.client(of: server)
            try await pusher.connected()
            try await pusher.subscribe("private-orders").subscribed()
            #expect(server.subscriptionCount(of: "private-orders") == 1)
            await pusher.disconnected()
        }
    }

    @Test("the server sends fixed socket ids and answers, and accepts a fixed signature")
    func fixedAnswers() async throws {
        let fixed = AuthMethod.authorizer { _ in PusherAuth(auth: "testKey123:authorizerblah123") }
        try await PusherTestServer.withServer(options: TestingAnApp.anySignature()) { server in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: fixed,
                    host: .host(server.host),
                    port: server.port,
                    useTLS: false,
                    timeouts: .init(subscription: .patience, authorization: .patience)
                )
            )
            let connection = try await TestingAnApp.fixedSocketID(server, app: pusher)
            #expect(connection.socketID == "45481.3166671" && connection.isEstablished)
            #expect(try await pusher.connected() == "45481.3166671")
            let signed = pusher.subscribe("private-signed")
            try await signed.subscribed()
            TestingAnApp.fixedSubscriptions(server)
            let orders = pusher.subscribe("private-orders")
            let events = orders.events(named: "created")
            try await orders.subscribed()
            try await server.waitForSubscription(to: "private-orders", timeout: .patience)
            try server.publish(event: "created", data: "1", to: "private-orders")
            for await event in events {
                #expect(event.data == "1")
                break
            }
            await #expect(throws: SubscriptionError.self) { try await pusher.subscribe("news").subscribed() }
            await pusher.disconnected()
        }
    }
}
