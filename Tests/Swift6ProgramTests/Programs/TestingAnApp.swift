import PusherClient
import PusherTestServer

/// The examples of the test server's articles, as functions that the tests call.
enum TestingAnApp {
    static func client(of server: PusherTestServer) -> Pusher {
        let pusher = Pusher(key: server.access.key, options: PusherClientOptions(testing: server.access))
        return pusher
    }

    static func secured() -> PusherTestServer.Options {
        var options = PusherTestServer.Options()
        options.tls = .localhost
        return options
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
