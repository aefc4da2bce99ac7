import PusherClient
import PusherTestServer

/// What the articles of the test server show, as functions that the tests call.
enum TestingAnApp {
    static func client(of server: PusherTestServer) -> Pusher {
        let endpoint = PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS)
        let options = PusherClientOptions(endpoint: endpoint)
        options.authMethod = .endpoint(server.httpURL + "/pusher/auth")
        options.userAuthMethod = .endpoint(server.httpURL + "/pusher/user-auth")
        options.retryPolicy = .delays([.milliseconds(20)])  // without it, the first wait is up to 1 s
        let pusher = Pusher(key: server.options.application.key, options: options)
        return pusher
    }

    static func fixedSocketID(_ server: PusherTestServer, app: Pusher) async throws -> PusherTestServer.Connection {
        let greeting = #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"45481.3166671\"}"}"#
        server.failConnections(with: .firstMessage(greeting))
        app.connect()
        let connection = try await server.waitForConnections()[0]
        return connection
    }

    static func anySignature() -> PusherTestServer.Options {
        var options = PusherTestServer.Options()
        options.acceptsAnySignature = true
        return options
    }

    static func fixedSubscriptions(_ server: PusherTestServer) {
        let success = #"{"event":"pusher_internal:subscription_succeeded","channel":"private-orders","data":"{}"}"#
        server.failSubscriptions(to: "private-orders", with: .text(success))
        server.failSubscriptions(with: .text(#"{"event":"pusher:error","data":{"code":null,"message":"no"}}"#))
    }
}
