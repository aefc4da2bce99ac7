import PusherTestServer
import Testing

@Test func ordersAppear() async throws {
    try await PusherTestServer.withServer { server in
        let key = server.options.application.key
        let app = MyApp(host: server.host, port: server.port, useTLS: server.usesTLS, key: key)
        try await server.waitForSubscription(to: "orders")
        try server.publish(event: "created", data: #"{"id":1}"#, to: "orders")
        #expect(await app.nextOrder() == 1)
    }
}
