import ClientTestSupport
import Dispatch
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("The programs of the articles on receiving events, and on channels and users", .limited)
struct ReceivingTests {
    @Test("screens, objects off the main actor, and tasks get the events of a channel")
    @MainActor
    func receiving() async throws {
        try await PusherTestServer.withServer { server in
            let options = PusherClientOptions(
                host: .host(server.host),
                port: server.port,
                useTLS: false,
                timeouts: .init(subscription: .patience),
                retryPolicy: .delays([.milliseconds(20)]),
                callbackQueue: .queue(DispatchQueue(label: "callbacks"))
            )
            let pusher = Pusher(key: server.options.application.key, options: options)
            let (lines, writer) = AsyncStream.makeStream(of: String.self)
            let channel = pusher.subscribe("orders")
            let (screen, orderScreen, store) = (Receiving.Screen(), Receiving.OrderScreen(), Receiving.Store())
            let journal = Receiving.Journal { writer.yield("journal \($0)") }
            screen.observe(channel)
            orderScreen.observe(channel)
            await journal.observe(channel)
            let reloads = Task { try await Receiving.reloads(channel, into: store) }
            let orders = Task { await Receiving.orders(pusher) { writer.yield("order \($0.id)") } }
            try await pusher.connected()
            try await channel.subscribed()
            // The tasks may not have reached the channel yet.
            try await waitUntil {
                try await channel.subscribed()
                if await store.reloads == 0 { server.dropConnections() }
                return await store.reloads > 0
            }
            try await channel.subscribed()
            try await waitUntil {
                try server.publish(event: "created", data: #"{"id":1}"#, to: "orders")
                return !orderScreen.list.isEmpty && !screen.shown.isEmpty
            }
            #expect(orderScreen.list.first?.id == 1)
            #expect(screen.shown.first == #"{"id":1}"#)
            await lines.waitForAll([#"journal {"id":1}"#, "order 1"])
            reloads.cancel()
            orders.cancel()
            _ = await (orders.value, reloads.result)
            await pusher.disconnected()
        }
    }

    @Test("the test server's examples work, and an event reaches a user after waitForSignIn(of:)")
    func channelsAndUsers() async throws {
        try await ChannelsAndUsers.authorizations()
        try await PusherTestServer.withServer(options: ChannelsAndUsers.pages()) { ChannelsAndUsers.failures($0) }
    }
}
