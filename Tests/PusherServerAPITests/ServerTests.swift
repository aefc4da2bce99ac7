import ClientTestSupport
import Foundation
import NIOHTTP1
import PusherClient
import PusherEncryption
import PusherServerAPI
import PusherTestServer
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@Suite("The server API on sockets", .limited)
struct ServerTests {
    private static func api(
        of server: PusherTestServer,
        secret: String? = nil,
        useTLS: Bool? = nil,
        _ change: (inout PusherServerAPI.Options) -> Void = { _ in }
    ) throws -> PusherServerAPI {
        var options = PusherServerAPI.Options()
        options.timeout = .patience
        options.proxy = .direct
        options.logger = .quiet
        options.retryPolicy = .delays([], repeatsLast: false)
        change(&options)
        let application = server.options.application
        return try PusherServerAPI(
            application: .init(
                id: application.id,
                key: application.key,
                secret: secret ?? application.secret,
                encryptionMasterKey: server.options.encryptionMasterKey
            ),
            endpoint: .init(host: server.host, port: server.port, useTLS: useTLS ?? server.usesTLS),
            options: options
        )
    }

    private func client(of server: PusherTestServer) -> Pusher {
        Pusher(
            key: server.options.application.key,
            options: PusherClientOptions(
                authMethod: .endpoint(server.url + "/pusher/auth"),
                host: .host(server.host),
                port: server.port,
                useTLS: false,
                userAuthMethod: .endpoint(server.url + "/pusher/user-auth"),
                timeouts: .patient,
                logger: .quiet
            )
        )
    }

    @Test(
        "an API for a test server has its address, application, key and certificate",
        .needsSodium,
        arguments: [false, true]
    )
    func testing(usesTLS: Bool) async throws {
        var options = PusherTestServer.Options()
        options.application = .init(id: "7", key: "a-key", secret: "a-secret")
        if usesTLS { options.tls = .localhost }
        try await PusherTestServer.withServer(options: options) { server in
            let api = try PusherServerAPI(testing: server.access)
            defer { api.shutdown() }
            try await api.trigger(.init("created", data: "{}"), on: "private-encrypted-a")
            #expect(try await api.channels().isEmpty)
            for text in ["\(server.access)", String(reflecting: server.access)] {
                #expect(!text.contains("a-secret") && !text.contains(server.options.encryptionMasterKey))
            }
        }
    }

    @Test(
        "an event reaches a client in each dialect, on encrypted and other channels",
        .needsSodium,
        arguments: [.pusher, .soketi, .reverb, .pylon, .slanger] as [PusherTestServer.Dialect]
    )
    func trigger(dialect: PusherTestServer.Dialect) async throws {
        var options = PusherTestServer.Options()
        options.dialect = dialect
        try await PusherTestServer.withServer(options: options) { server in
            let (api, pusher) = (try Self.api(of: server), client(of: server))
            for name in ["orders", "private-encrypted-orders"] {
                let channel = pusher.subscribe(name)
                var events = channel.events(named: "created").makeAsyncIterator()
                pusher.connect()
                try await channel.subscribed()
                try await api.trigger(try .init("created", json: ["id": 1]), on: name)
                #expect(await events.next()?.data == #"{"id":1}"#)
                try await api.trigger([
                    .init(.init("created", data: "a"), on: name), .init(.init("created", data: "b"), on: name),
                ])
                #expect(await events.next()?.data == "a")
                #expect(await events.next()?.data == "b")
            }
            await pusher.disconnected()
        }
    }

    @Test("the API returns channels, numbers and users, and an excluded connection gets no event")
    func states() async throws {
        try await PusherTestServer.withServer { server in
            let (api, pusher) = (try Self.api(of: server), client(of: server))
            let room = pusher.subscribe("presence-room=a@b,c.d;e")
            let orders = pusher.subscribe("orders")
            var events = orders.events(named: "created").makeAsyncIterator()
            let socketID = try await pusher.connected()
            try await room.subscribed()
            try await orders.subscribed()
            #expect(
                try await api.channels(withPrefix: "presence-", info: [.userCount]) == [room.name: .init(userCount: 1)]
            )
            #expect(Set(try await api.channels().keys) == [room.name, "orders"])
            #expect(
                try await api.channel(room.name, info: [.userCount, .subscriptionCount])
                    == .init(isOccupied: true, userCount: 1, subscriptionCount: 1)
            )
            #expect(try await api.channel("empty").isOccupied == false)
            #expect(try await api.users(on: room.name) == [socketID])
            let info = try await api.trigger(
                .init("created", data: "1", excluding: socketID, info: .subscriptionCount),
                on: "orders"
            )
            #expect(info == ["orders": .init(subscriptionCount: 1)])
            try await api.trigger(.init("created", data: "2"), on: "orders")
            #expect(await events.next()?.data == "2")
            await pusher.disconnected()
        }
    }

    @Test("the library sends an event to a user, and closes the user's connections")
    func users() async throws {
        var options = PusherTestServer.Options()
        options.authenticateUser = { _ in .allow(userID: "ada lovelace/ü") }
        try await PusherTestServer.withServer(options: options) { server in
            let (api, pusher) = (try Self.api(of: server), client(of: server))
            var events = pusher.user.events(named: "hello").makeAsyncIterator()
            var errors = pusher.errors.makeAsyncIterator()
            pusher.connect()
            pusher.signIn()
            try await pusher.signedIn()
            try await api.send(.init("hello", data: "1"), toUser: "ada lovelace/ü")
            #expect(await events.next()?.data == "1")
            try await api.terminateConnections(ofUser: "ada lovelace/ü")
            #expect(await errors.next()?.serverCode == 4009)
            await pusher.disconnected()
        }
    }

    @Test("the server accepts authorizations of the library")
    func authorizations() async throws {
        try await PusherTestServer.withServer { server in
            let api = try Self.api(of: server)
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: .authorizer { try api.auth(of: $0) },
                    host: .host(server.host),
                    port: server.port,
                    useTLS: false,
                    userAuthMethod: .authenticator { socketID in
                        let answer = try api.authenticateUser(.init(id: "7"), socketID: socketID)
                        return UserAuth(auth: answer.auth, userData: answer.userData ?? "")
                    },
                    timeouts: .patient,
                    logger: .quiet
                )
            )
            pusher.connect()
            let encrypted = SecretBox.isAvailable ? ["private-encrypted-a"] : []
            for name in ["private-a", "presence-a"] + encrypted {
                try await pusher.subscribe(name).subscribed()
            }
            pusher.signIn()
            try await pusher.signedIn()
            #expect(try await api.users(on: "presence-a") == ["7"])
            await pusher.disconnected()
        }
    }

    @Test("the library accepts the server's webhooks")
    func webhooks() async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { backend in
            var options = PusherTestServer.Options()
            options.webhookURL = backend.url
            try await PusherTestServer.withServer(options: options) { server in
                let (api, pusher) = (try Self.api(of: server), client(of: server))
                pusher.connect()
                try await pusher.subscribe("presence-a").subscribed()
                let request = try #require(await backend.nextRequest())
                let webhook = try api.webhook(
                    body: request.body.utf8,
                    key: request.headers.first(name: "X-Pusher-Key"),
                    signature: request.headers.first(name: "X-Pusher-Signature")
                )
                #expect(webhook.events.map(\.name) == [.channelOccupied, .memberAdded])
                #expect(webhook.events.last?.channel == "presence-a")
                #expect(webhook.events.last?.userID != nil)
                await pusher.disconnected()
            }
        }
    }

    // MARK: Failures

    @Test("a server gets a request only if its key is pinned")
    func pins() async throws {
        let certificates = TestCertificates()
        try await HTTPTestServer.serving(tls: certificates.serverContext) { _ in
            .answer(200, [:], "{}")
        } _: { server in
            var options = PusherServerAPI.Options()
            (options.proxy, options.logger, options.timeout) = (.direct, .quiet, .patience)
            options.tls = TLSOptions(
                trustRoots: .only(pem: certificates.rootPEM),
                pins: ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]
            )
            let endpoint = PusherServerAPI.Endpoint(host: "127.0.0.1", port: server.port)
            let refused = try PusherServerAPI(
                application: .init(id: "1", key: "k", secret: "s"),
                endpoint: endpoint,
                options: options
            )
            let error = await failure { try await refused.trigger(.init("e", data: ""), on: "a") }
            #expect(error?.code == .pinMismatch)
            #expect(error?.message.contains("sha256/\(certificates.serverPin)") == true)
            #expect(error?.message.contains("auth_signature") == false)
            #expect(server.requests.isEmpty)
            options.tls.pins.insert(certificates.serverPin)
            let accepted = try PusherServerAPI(
                application: .init(id: "1", key: "k", secret: "s"),
                endpoint: endpoint,
                options: options
            )
            try await accepted.trigger(.init("e", data: ""), on: "a")
            #expect(server.requests.count == 1)
        }
    }

    @Test("a wrong secret causes the error unauthorized, which names the values to check")
    func wrongSecret() async throws {
        try await PusherTestServer.withServer { server in
            let api = try Self.api(of: server, secret: "another")
            let error = await failure { try await api.trigger(.init("e", data: ""), on: "a") }
            #expect(error?.code == .unauthorized)
            #expect(error?.message.contains("Check app id, key and secret") == true)
        }
    }

    @Test("a missing server causes the error connectionFailed")
    func noServer() async throws {
        var options = PusherTestServer.Options()
        options.host = LoopbackAddress.ofItsOwn()
        let server = PusherTestServer(options: options)
        try await server.start()
        await server.shutdown()
        let api = try Self.api(of: server)
        let error = await failure { _ = try await api.channels() }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("whether the server runs") == true)
    }

    @Test("a host that does not resolve causes the error connectionFailed")
    func unresolved() async throws {
        var options = PusherServerAPI.Options()
        (options.proxy, options.logger, options.timeout) = (.direct, .quiet, .patience)
        let api = try PusherServerAPI(
            application: .init(id: "1", key: "k", secret: "s"),
            endpoint: .init(host: "cluster.invalid"),
            options: options
        )
        let error = await failure { _ = try await api.channels() }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("could not be resolved") == true)
    }

    @Test("a request with TLS to a server without TLS causes the error tlsFailed with the reason")
    func tlsAgainstPlain() async throws {
        try await PusherTestServer.withServer { server in
            let api = try Self.api(of: server, useTLS: true)
            let error = await failure { _ = try await api.channels() }
            #expect(error?.code == .tlsFailed)
            #expect(error?.tlsFailure?.code == .notTLS)
            #expect(error?.message.contains("without TLS") == true)
        }
    }

    @Test("the error for plain HTTP to a server with TLS suggests TLS, and TLS requires a trusted certificate")
    func plainAgainstTLS() async throws {
        let certificates = TestCertificates()
        var options = PusherTestServer.Options()
        options.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        try await PusherTestServer.withServer(options: options) { server in
            let plain = try Self.api(of: server, useTLS: false)
            let error = await failure { _ = try await plain.channels() }
            #expect(error?.code == .connectionFailed)
            #expect(error?.message.contains("expects TLS") == true)
            let untrusting = try Self.api(of: server)
            #expect(await failure { _ = try await untrusting.channels() }?.code == .tlsFailed)
            let trusting = try Self.api(of: server) { $0.tls.trustRoots = .only(pem: certificates.rootPEM) }
            #expect(try await trusting.channels().isEmpty)
        }
    }

    @Test("the error for a lost connection that the server has answered on before does not suggest TLS")
    func keptConnection() async throws {
        try await withScriptedServer { peer in
            guard await !peer.readUpgrade().isEmpty else { return }
            try await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"channels\":{}}")
            // The next request has more than 100 bytes. The server closes the connection instead of answering.
            _ = await peer.skip(100)
        } _: { port in
            var options = PusherServerAPI.Options()
            (options.proxy, options.logger, options.timeout) = (.direct, .quiet, .patience)
            options.retryPolicy = .delays([], repeatsLast: false)
            let api = try PusherServerAPI(
                application: .init(id: "1", key: "k", secret: "s"),
                endpoint: .init(host: "127.0.0.1", port: port, useTLS: false),
                options: options
            )
            #expect(try await api.channels().isEmpty)
            // An event is not repeated, because the server may have published it.
            let error = await failure { try await api.trigger(.init("e", data: "1"), on: "a") }
            #expect(error?.code == .connectionFailed)
            #expect(error?.message.contains("kept connection") == true && error?.message.contains("TLS") == false)
            api.shutdown()
        }
    }

    @Test("a request without an answer fails after the timeout")
    func silence() async throws {
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { backend in
            var options = PusherServerAPI.Options()
            (options.proxy, options.logger, options.timeout) = (.direct, .quiet, .milliseconds(200))
            let api = try PusherServerAPI(
                application: .init(id: "1", key: "k", secret: "s"),
                endpoint: .init(host: "127.0.0.1", port: backend.port, useTLS: false),
                options: options
            )
            #expect(await failure { _ = try await api.channels() }?.code == .timedOut)
        }
    }

    @Test("an event is not sent again if the server has read it, and closes the connection instead of answering")
    func droppedEvent() async throws {
        let requests = Log<Bool>()
        try await withScriptedServer { peer in
            // The requests have more than 100 bytes.
            requests.append(await peer.skip(100))
        } _: { port in
            var options = PusherServerAPI.Options()
            (options.proxy, options.logger, options.timeout) = (.direct, .quiet, .patience)
            options.retryPolicy = .delays([.zero, .zero], repeatsLast: false)
            let api = try PusherServerAPI(
                application: .init(id: "1", key: "k", secret: "s"),
                endpoint: .init(host: "127.0.0.1", port: port, useTLS: false),
                options: options
            )
            #expect(await failure { try await api.trigger(.init("e", data: "1"), on: "a") }?.code == .connectionFailed)
            #expect(requests.elements == [true])
            // A read request has no effect, so the library repeats it.
            #expect(await failure { _ = try await api.channels() }?.code == .connectionFailed)
            #expect(requests.elements == [true, true, true, true])
        }
    }

    @Test("a redirect that turns a request into a GET triggers no event")
    func redirectToGET() async throws {
        try await HTTPTestServer.serving { request in
            request.uri == "/login" ? .answer(200) : .redirect(303, "/login")
        } _: { backend in
            var options = PusherServerAPI.Options()
            (options.proxy, options.logger, options.timeout) = (.direct, .quiet, .patience)
            let api = try PusherServerAPI(
                application: .init(id: "1", key: "k", secret: "s"),
                endpoint: .init(host: "127.0.0.1", port: backend.port, useTLS: false),
                options: options
            )
            let error = await failure { try await api.trigger(.init("e", data: "1"), on: "a") }
            #expect(error?.code == .unexpectedAnswer)
            #expect(error?.message.contains("status 303") == true)
            #expect(backend.requests.map(\.method) == ["POST"])
        }
    }

    @Test("a shutdown cancels pending requests and prevents new requests")
    func endings() async throws {
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { backend in
            var options = PusherServerAPI.Options()
            (options.proxy, options.logger, options.timeout) = (.direct, .quiet, .patience)
            let api = try PusherServerAPI(
                application: .init(id: "1", key: "k", secret: "s"),
                endpoint: .init(host: "127.0.0.1", port: backend.port, useTLS: false),
                options: options
            )
            let cancelled = Task { _ = try await api.channels() }
            _ = await backend.nextRequest()
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            let ended = Task { await failure { _ = try await api.channels() } }
            _ = await backend.nextRequest()
            api.shutdown()
            #expect(await ended.value?.code == .shutDown)
            #expect(await failure { _ = try await api.channels() }?.code == .shutDown)
        }
    }
}

/// A backend that answers the client's authorizer without HTTP.
extension PusherServerAPI {
    fileprivate func auth(of request: AuthorizationRequest) throws -> PusherAuth {
        let isPresence = request.channelName.hasPrefix("presence-")
        let answer = try authorizeChannel(
            request.channelName,
            socketID: request.socketID,
            member: isPresence ? .init(id: "7") : nil
        )
        return PusherAuth(auth: answer.auth, channelData: answer.channelData, sharedSecret: answer.sharedSecret)
    }
}

extension PusherTimeouts {
    /// Timeouts that no request reaches.
    fileprivate static var patient: Self {
        Self(connectionAttempt: .patience, subscription: .patience, authorization: .patience, signIn: .patience)
    }
}
