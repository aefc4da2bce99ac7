import ClientTestSupport
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("A client with the options of its test server", .limited)
struct TestServerAccessTests {
    private func use(_ server: PusherTestServer) async throws {
        let pusher = Pusher(key: server.access.key, options: PusherClientOptions(testing: server.access))
        try await pusher.connected()
        try await pusher.subscribe("private-orders").subscribed()
        try await pusher.signedIn()
        #expect(server.connections.map(\.isEstablished) == [true])
        await pusher.disconnected()
    }

    @Test(
        "the client connects, authorizes and signs in, without TLS and with TLS.localhost",
        arguments: ["127.0.0.1", "::1"]
    )
    func works(host: String) async throws {
        for tls in [nil, PusherTestServer.TLS.localhost] {
            var options = PusherTestServer.Options()
            options.host = host
            options.tls = tls
            try await PusherTestServer.withServer(options: options) { server in
                #expect(server.access.usesTLS == (tls != nil))
                try await use(server)
            }
        }
    }

    @Test("TLS.localhost is also valid for the name localhost, and other clients reject its root")
    func name() async throws {
        var options = PusherTestServer.Options()
        options.tls = .localhost
        try await PusherTestServer.withServer(options: options) { server in
            let root = try #require(server.access.trustRoot)
            func client(_ tls: TLSOptions) -> Pusher {
                let endpoint = PusherEndpoint(host: "localhost", port: server.port)
                return Pusher(
                    key: server.access.key,
                    options: PusherClientOptions(endpoint: endpoint, autoReconnect: false, tls: tls, proxy: .direct)
                )
            }
            let trusting = client(TLSOptions(trustRoots: .only(pem: root)))
            try await trusting.connected()
            await trusting.disconnected()
            let careful = client(TLSOptions())
            let error = await #expect(throws: PusherClientError.self) { try await careful.connected() }
            #expect(error?.tlsFailure?.code == .unknownIssuer)
        }
    }

    @Test("the client uses the test's user id on presence channels and for the sign-in")
    func user() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(
                key: server.access.key,
                options: PusherClientOptions(testing: server.access, userId: "ada")
            )
            try await pusher.connected()
            let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            try await room.subscribed()
            try await pusher.signedIn()
            #expect(room.myId == "ada" && pusher.user.userId == "ada")
            #expect(server.members(of: "presence-room").map(\.userID) == ["ada"])
            await pusher.disconnected()
        }
    }

    @Test("the client reconnects after a loss")
    func reconnects() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(key: server.access.key, options: PusherClientOptions(testing: server.access))
            try await pusher.connected()
            server.dropConnections()
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
            try await server.waitForConnections(timeout: .patience)
            await pusher.disconnected()
        }
    }
}
