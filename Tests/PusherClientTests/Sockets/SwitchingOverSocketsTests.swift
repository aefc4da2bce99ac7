import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Switching servers, on real sockets", .limited)
struct SwitchingOverSocketsTests {
    @Test("a client switches to another server and app and back, and keeps its channel, listeners and user")
    func failover() async throws {
        var second = PusherTestServer.Options()
        second.application = .init(id: "2", key: "second-key", secret: "second-secret")
        try await PusherTestServer.withServer { one in
            try await PusherTestServer.withServer(options: second) { other in
                let pusher = Pusher(one)
                pusher.authorize(at: one)
                let channel = pusher.subscribe("private-orders")
                let (called, call) = AsyncStream.makeStream(of: String.self)
                channel.bind(eventName: "created") { call.yield($0.data ?? "") }
                var calls = called.makeAsyncIterator()
                var events = channel.events(named: "created").makeAsyncIterator()
                var notes = pusher.user.events(named: "note").makeAsyncIterator()
                let socketID = try await pusher.connected()
                try await channel.subscribed()
                try await pusher.signedIn()
                try one.publish(event: "created", data: "1", to: "private-orders")
                #expect(await events.next()?.data == "1")
                #expect(await calls.next() == "1")

                try pusher.switchTo(
                    endpoint: other.endpoint,
                    key: "second-key",
                    authMethod: .endpoint(authEndpoint: other.url + "/pusher/auth"),
                    userAuthMethod: .endpoint(other.url + "/pusher/user-auth", parameters: ["user_id": "ada"])
                )
                #expect(pusher.connection.key == "second-key" && pusher.connection.endpoint == other.endpoint)
                try await other.waitForSubscription(to: "private-orders", timeout: .patience)
                try await other.waitForSubscription(to: "#server-to-user-ada", timeout: .patience)
                #expect(try await pusher.connected() != socketID)
                try other.publish(event: "created", data: "2", to: "private-orders")
                try other.publish(event: "note", data: "3", toUser: "ada")
                #expect(await events.next()?.data == "2")
                #expect(await calls.next() == "2")
                #expect(await notes.next()?.data == "3")

                // The test waits, because the server may notice late that the client has left. Until then, the server
                // sends events to the old socket.
                try await one.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
                pusher.authorize(at: one)
                try pusher.switchTo(endpoint: one.endpoint, key: one.options.application.key)
                try await one.waitForSubscription(to: "private-orders", timeout: .patience)
                try one.publish(event: "created", data: "4", to: "private-orders")
                #expect(await events.next()?.data == "4")
                await pusher.disconnected()
            }
        }
    }

    @Test("a client switches from a dead server to another server")
    func deadServer() async throws {
        try await PusherTestServer.withServer { other in
            var options = PusherTestServer.Options()
            options.host = LoopbackAddress.ofItsOwn()
            let dead = PusherTestServer(options: options)
            try await dead.start()
            let pusher = Pusher(dead)
            let channel = pusher.subscribe("orders")
            var statuses = pusher.statuses.makeAsyncIterator()
            try await pusher.connected()
            try await channel.subscribed()
            await dead.shutdown()
            while let status = await statuses.next() {
                if case .waiting = status { break }
            }
            try pusher.switchTo(endpoint: other.endpoint)
            try await pusher.connected()
            try await channel.subscribed()
            #expect(other.connections.count == 1)
            await pusher.disconnected()
        }
    }
}

extension PusherTestServer {
    /// The server's endpoint for clients.
    var endpoint: PusherEndpoint { PusherEndpoint(host: host, port: port, useTLS: usesTLS) }
}

extension Pusher {
    /// Uses a server's own endpoints to authorize channels and the user.
    fileprivate func authorize(at server: PusherTestServer) {
        connection.options.authMethod = .endpoint(authEndpoint: server.url + "/pusher/auth")
        connection.options.userAuthMethod = .endpoint(
            server.url + "/pusher/user-auth",
            parameters: ["user_id": "ada"]
        )
    }
}
