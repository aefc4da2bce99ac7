import PusherClient
import PusherServerAPI
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("One server with several applications and ports", .limited)
struct SeveralAppsTests {
    private func makeClient(_ access: TestServerAccess) -> Pusher {
        Pusher(key: access.key, options: PusherClientOptions(testing: access))
    }

    private static func options(_ number: Int) -> PusherTestServer.Options {
        var options = PusherTestServer.Options()
        options.application = .init(id: "\(number)", key: "key-\(number)", secret: "secret-\(number)")
        options.sendsSubscriptionCounts = number == 2
        return options
    }

    @Test("each application has its own channels, authorizations, API, records and options")
    func applications() async throws {
        var options = Self.options(1)
        options.apps = [Self.options(2)]
        try await PusherTestServer.withServer(options: options) { server in
            let servers = [server] + server.apps
            #expect(servers.map(\.port) == [server.port, server.port])
            for (index, server) in servers.enumerated() {
                let client = makeClient(server.access)
                let channel = client.subscribe("private-news")
                let events = channel.events(named: "flash")
                client.connect()
                try await channel.subscribed()
                let api = try PusherServerAPI(testing: server.access)
                try await api.trigger(PusherServerAPI.Event("flash", data: "app \(index + 1)"), on: "private-news")
                let event = await events.first { _ in true }
                #expect(event?.data == "app \(index + 1)")
                #expect(try await Array(api.channels().keys) == ["private-news"])
                #expect(server.connections.count == 1)
                client.disconnect()
                api.shutdown()
                try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
            }
            // The secret of one application signs nothing for another.
            let stranger = try PusherServerAPI(
                application: .init(id: "2", key: "key-2", secret: "secret-1"),
                endpoint: .init(host: server.host, port: server.port, useTLS: false)
            )
            let error = await #expect(throws: PusherServerAPIError.self) { try await stranger.channels() }
            #expect(error?.httpStatus == 401)
            stranger.shutdown()
        }
    }

    @Test("two applications with the same id or key are an error", arguments: ["id", "key"])
    func sameNames(kind: String) async throws {
        var options = Self.options(1)
        var other = Self.options(2)
        if kind == "id" { other.application.id = "1" } else { other.application.key = "key-1" }
        options.apps = [other]
        let error = await #expect(throws: PusherTestServer.ServerError.self) {
            try await PusherTestServer(options: options).start()
        }
        #expect(error?.code == .invalidOption && error?.message.contains("two applications have the \(kind) ") == true)
    }

    @Test("the key \"app\" of a further application is found")
    func keyApp() async throws {
        var options = Self.options(1)
        var other = Self.options(2)
        other.application.key = "app"
        options.apps = [other]
        try await PusherTestServer.withServer(options: options) { server in
            let client = makeClient(server.apps[0].access)
            client.connect()
            try await client.connected()
            #expect(server.apps[0].connections.count == 1 && server.connections.isEmpty)
            client.disconnect()
        }
    }

    @Test("options that contradict each other are an error at the start")
    func contradictions() async throws {
        var twice = Self.options(1)
        twice.socketIDPrefix = 7
        twice.apps = [Self.options(2)]
        twice.apps[0].socketIDPrefix = 7
        var insecure = PusherTestServer.Options()
        insecure.tlsPort = 0
        for (options, part) in [(twice, "socketIDPrefix 7"), (insecure, "tlsPort needs a certificate")] {
            let server = PusherTestServer(options: options)
            let error = await #expect(throws: PusherTestServer.ServerError.self) { try await server.start() }
            #expect(error?.code == .invalidOption && error?.message.contains(part) == true)
            await server.shutdown()
        }
    }

    @Test("one server answers with and without TLS, with one state")
    func twoPorts() async throws {
        var options = PusherTestServer.Options()
        options.tls = .localhost
        options.tlsPort = 0
        try await PusherTestServer.withServer(options: options) { server in
            let tlsAccess = try #require(server.tlsAccess)
            #expect(!server.usesTLS && server.tlsPort != nil && server.tlsPort != server.port)
            let client = makeClient(server.access)
            let channel = client.subscribe("news")
            let events = channel.events(named: "flash")
            client.connect()
            try await channel.subscribed()
            // The client has no TLS, and the backend has.
            let api = try PusherServerAPI(testing: tlsAccess)
            try await api.trigger(PusherServerAPI.Event("flash", data: "over https"), on: "news")
            let event = await events.first { _ in true }
            #expect(event?.data == "over https")
            let other = makeClient(tlsAccess)
            other.connect()
            try await other.connected()
            #expect(server.connections.count == 2)
            for client in [client, other] { client.disconnect() }
            api.shutdown()
        }
    }
}
