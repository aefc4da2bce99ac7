import ClientTestSupport
import Foundation
import PusherTestServer
import RealtimeNetworking
import TestTraits
import Testing

@testable import PusherClient

/// Tests that the client rejects an endpoint if keys are pinned. The client checks pins only for the WebSocket.
@Suite("Pins, and authorization endpoints", .limited)
struct PinnedEndpointTests {
    private static let tls = TLSOptions(pins: ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])
    private static let own = "http://server.test/pusher/auth"
    private static let elsewhere = "https://backend.test/pusher/auth"

    private func options(
        _ authMethod: AuthMethod = .noMethod,
        _ userAuthMethod: UserAuthMethod = .noMethod,
        host: String = "server.test",
        tls: TLSOptions = tls
    ) -> PusherClientOptions {
        PusherClientOptions(
            authMethod: authMethod,
            host: .host(host),
            useTLS: false,
            userAuthMethod: userAuthMethod,
            tls: tls,
            callbackQueue: .eventLoop,
            logger: .quiet
        )
    }

    private func problem(_ options: PusherClientOptions) -> PusherClientError? {
        do throws(PusherClientError) {
            _ = try Endpoint(key: "key", options: options).request(options: options)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "with pins, the client rejects every endpoint, on the server's own host and on any other host",
        arguments: [
            "https://ws.test/auth", "https://WS.test:8443/auth", "http://ws.test./auth", "https://auth.ws.test/a",
            "https://127.0.0.1/a", "http://127.0.0.1:9000/auth", "https://user:secret@ws.test/auth?token=secret",
        ]
    )
    func refused(url: String) {
        let methods: [(AuthMethod, UserAuthMethod)] = [
            (.endpoint(authEndpoint: url), .noMethod), (.endpoint(url), .noMethod),
            (.endpoint(AuthEndpoint(url, isBatching: true)), .noMethod), (.noMethod, .endpoint(url)),
        ]
        for (authMethod, userAuthMethod) in methods {
            let error = problem(options(authMethod, userAuthMethod, host: "ws.test"))
            #expect(error?.code == .invalidOption)
            #expect(error?.message.contains("tls.pins cannot be checked for 'http") == true)
            #expect(error?.message.contains("Use .authorizer or .authenticator") == true)
            #expect(error?.description.contains("secret") == false)
            #expect(problem(options(authMethod, userAuthMethod, host: "ws.test", tls: TLSOptions())) == nil)
        }
    }

    @Test("with pins, the client accepts methods without a request")
    func accepted() {
        #expect(problem(options(.inline(secret: "s"), .inline(secret: "s") { "{}" })) == nil)
        #expect(problem(options(.authorizer { _ in PusherAuth(auth: "k:s") })) == nil)
    }

    @Test("the client makes no attempt with pins and an endpoint, and explains why")
    func connecting() async throws {
        let world = VirtualWorld()
        let pusher = world.makeClient(options(.endpoint(Self.own)))
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await pusher.connected() }
        }
        #expect(error?.code == .invalidOption)
        #expect(error?.message.contains(Self.own) == true)
        #expect(world.server.records.isEmpty)
    }

    @Test(
        "switchTo() throws and changes nothing if an endpoint would get requests without checked pins",
        arguments: [(.endpoint(elsewhere), nil), (nil, .endpoint(elsewhere))] as [(AuthMethod?, UserAuthMethod?)]
    )
    func switching(authMethod: AuthMethod?, userAuthMethod: UserAuthMethod?) async throws {
        let world = VirtualWorld()
        let options = options()
        let pusher = world.makeClient(options)
        let error = #expect(throws: PusherClientError.self) {
            try pusher.switchTo(
                endpoint: PusherEndpoint(host: "backend.test"),
                authMethod: authMethod,
                userAuthMethod: userAuthMethod
            )
        }
        #expect(error?.code == .invalidOption)
        #expect(pusher.connection.endpoint == options.endpoint)
        #expect("\(options.authMethod)" == "\(AuthMethod.noMethod)")
        #expect("\(options.userAuthMethod)" == "\(UserAuthMethod.noMethod)")
        try pusher.switchTo(
            endpoint: PusherEndpoint(host: "backend.test"),
            authMethod: .authorizer { _ in PusherAuth(auth: "k:s") },
            userAuthMethod: .noMethod
        )
    }
}
