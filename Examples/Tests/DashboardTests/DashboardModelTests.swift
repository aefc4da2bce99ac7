import Dashboard
import Observation
import PusherClient
import PusherTestServer
import Testing

@MainActor
@Suite("The dashboard", .timeLimit(.minutes(5)))
struct DashboardModelTests {
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    private func makeModel(_ server: PusherTestServer) -> DashboardModel {
        let options = PusherClientOptions(testing: server.access, userId: "ada")
        options.logLevel = .silent
        return DashboardModel(key: server.access.key, options: options)
    }

    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    @Test("orders appear, the newest first, with their total")
    func orders() async throws {
        try await PusherTestServer.withServer { server in
            let model = makeModel(server)
            model.appear()
            try await server.waitForSubscription(to: "orders")
            for id in 1...3 { try server.publish(event: "created", data: #"{"id":\#(id),"amount":10}"#, to: "orders") }
            await observe { model.newestOrders.count == 3 }
            #expect(model.newestOrders.map(\.id) == [3, 2, 1])
            #expect(model.total == 30)
        }
    }

    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    @Test("the audience says who is watching and typing")
    func audience() async throws {
        try await PusherTestServer.withServer { server in
            let model = makeModel(server)
            #expect(model.audience == "")
            model.appear()
            await observe { model.audience == "ada is watching. " }
            let ben = try server.join("ben", in: "presence-dashboard")
            await observe { model.audience == "ada, ben are watching. " }
            try ben.send("client-typing")
            await observe { model.audience == "ada, ben are watching. ben is typing…" }
            ben.leave()
            await observe { model.audience == "ada is watching. " }
        }
    }

    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    @Test("a lost connection shows a banner until the client is connected again")
    func banner() async throws {
        try await PusherTestServer.withServer { server in
            let model = makeModel(server)
            model.appear()
            await observe { model.connection.isConnected }
            server.failConnections(with: .refused(status: 503))
            server.dropConnections()
            await observe { model.connection.banner != nil }
            server.acceptConnections()
            await observe { model.connection.isConnected && model.connection.banner == nil }
            model.disappear()
            await observe { model.connection.banner == "Offline" }
        }
    }

    /// Waits until a condition on observed properties is true, as a view would notice it.
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    private func observe(until condition: () -> Bool) async {
        while true {
            let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
            if withObservationTracking(condition, onChange: { continuation.finish() }) { return }
            if Task.isCancelled { return }
            for await _ in changes {}
        }
    }
}
