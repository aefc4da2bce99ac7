import PusherClient
import PusherTestServer
import TestSupport
import Testing

/// The examples of the test server's article "Private channels, presence and users".
enum ChannelsAndUsers {
    /// An app under test.
    final class MyApp: Sendable {
        let pusher: Pusher

        init(server: PusherTestServer, authorizationURL: String) {
            let headers = ["Authorization": "Bearer x"]
            let endpoint = PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS)
            let options = PusherClientOptions(endpoint: endpoint)
            options.authMethod = .endpoint(authorizationURL, headers: headers, parameters: ["token": "secret"])
            options.userAuthMethod = .endpoint(
                server.url + "/pusher/user-auth",
                headers: headers,
                parameters: ["user_id": "7"]
            )
            options.timeouts.subscription = .patience
            options.timeouts.authorization = .patience
            options.timeouts.signIn = .patience
            options.retryPolicy = .delays([.milliseconds(20)])
            pusher = Pusher(key: server.options.application.key, options: options)
        }

        func start() {
            pusher.subscribe("private-orders")
            pusher.subscribe("presence-room")
            pusher.signIn()
            pusher.connect()
        }
    }

    static func authorizations() async throws {
        var options = PusherTestServer.Options()
        options.authorizeChannel = { request in
            request.parameters["token"] == "secret" ? .allow(userID: "7", userInfo: #"{"name":"Ada"}"#) : .refuse()
        }
        try await PusherTestServer.withServer(options: options) { server in
            let app = MyApp(server: server, authorizationURL: server.url + "/pusher/auth")
            app.start()
            try await server.waitForSubscription(to: "private-orders")
            #expect(server.authorizationRequests.first?.header("Authorization") == "Bearer x")
        }
        try await PusherTestServer.withServer(options: options) { server in
            let app = MyApp(server: server, authorizationURL: server.url + "/pusher/auth")
            app.start()
            try await present(server)
            try others(server)
            try await users(server)
        }
    }

    static func pages() -> PusherTestServer.Options {
        var options = PusherTestServer.Options()
        options.allowedOrigins = ["https://app.example.test"]
        return options
    }

    static func failures(_ server: PusherTestServer) {
        server.failAuthorizations(1, with: .status(503, headers: ["Retry-After": "2"]))
        server.failAuthorizations(1, for: "private-orders", with: .delayed(.seconds(3)))
        server.failAuthorizations(with: .wrongSignature)  // and all others, until acceptAuthorizations()
    }

    static func present(_ server: PusherTestServer) async throws {
        try await server.waitForMember("7", of: "presence-room")
        #expect(server.members(of: "presence-room").map(\.userInfo) == [#"{"name":"Ada"}"#])
    }

    static func others(_ server: PusherTestServer) throws {
        let bob = try server.join("bob", in: "presence-room", userInfo: #"{"name":"Bob"}"#)
        #expect(try bob.send("client-typing", data: #"{"on":true}"#) == 1)
        bob.leave()
    }

    static func users(_ server: PusherTestServer) async throws {
        try await server.waitForSignIn(of: "7")
        #expect(try server.publish(event: "invoice", data: "{}", toUser: "7") == 1)
        server.terminateConnections(ofUser: "7")  // close code 4009
    }
}

/// The examples call these methods without a timeout. The methods wait longer than the test server's methods, because
/// all tests run at once.
extension PusherTestServer {
    func waitForConnections() async throws -> [Connection] {
        try await waitForConnections(count: 1, timeout: .patience)
    }

    func waitForSubscription(to channel: String) async throws {
        try await waitForSubscription(to: channel, timeout: .patience)
    }

    func waitForMember(_ userId: String, of channel: String) async throws {
        try await waitForMember(userId, of: channel, timeout: .patience)
    }

    func waitForSignIn(of userId: String) async throws {
        try await waitForSignIn(of: userId, timeout: .patience)
    }
}
