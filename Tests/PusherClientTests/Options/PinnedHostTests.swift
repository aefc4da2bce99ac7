import ClientTestSupport
import Foundation
import PusherTestServer
import RealtimeNetworking
import Testing

@testable import PusherClient

/// Tests that the client rejects an endpoint on a pinned host. The client checks pins only for the WebSocket.
@Suite("Pins, and authorization endpoints on the server's host", .timeLimit(.minutes(5)))
struct PinnedHostTests {
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
        "the client rejects an endpoint on the pinned host in every spelling",
        arguments: [
            ("ws.test", "https://ws.test/auth"), ("ws.test", "https://WS.test:8443/auth"),
            ("WS.test", "http://ws.test./auth"), ("::1", "https://[::1]/auth"),
            ("[::1]", "https://[0:0:0:0:0:0:0:1]/a"),
            ("127.0.0.1", "https://127.0.0.1:9000/auth"), ("ws.test", "https://user:secret@ws.test/auth?token=secret"),
        ]
    )
    func refused(host: String, url: String) {
        let methods: [(AuthMethod, UserAuthMethod)] = [
            (.endpoint(authEndpoint: url), .noMethod), (.endpoint(url), .noMethod),
            (.endpoint(AuthEndpoint(url, isBatching: true)), .noMethod), (.noMethod, .endpoint(url)),
        ]
        for (authMethod, userAuthMethod) in methods {
            let error = problem(options(authMethod, userAuthMethod, host: host))
            #expect(error?.code == .invalidOption)
            #expect(error?.message.contains("tls.pins") == true && error?.message.contains("another host name") == true)
            #expect(error?.description.contains("secret") == false)
            #expect(problem(options(authMethod, userAuthMethod, host: host, tls: TLSOptions())) == nil)
        }
    }

    @Test("the client accepts endpoints on other hosts, and methods without a request")
    func accepted() {
        for url in ["https://auth.ws.test/a", "https://ws.test.example/a", "https://127.0.0.1/a", "not a URL"] {
            #expect(problem(options(.endpoint(url), .endpoint(url), host: "ws.test")) == nil)
        }
        #expect(problem(options(.inline(secret: "s"), .inline(secret: "s") { "{}" })) == nil)
        #expect(problem(options(.authorizer { _ in PusherAuth(auth: "k:s") })) == nil)
    }

    @Test("the client makes no attempt with an endpoint on the pinned host, and explains why")
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
        "switchTo() throws and changes nothing if an endpoint is on the new server's pinned host",
        arguments: [
            (.endpoint(elsewhere), nil, nil), (.noMethod, .endpoint(elsewhere), nil),
            (.noMethod, nil, .endpoint(elsewhere)),
        ] as [(AuthMethod, AuthMethod?, UserAuthMethod?)]
    )
    func switching(current: AuthMethod, authMethod: AuthMethod?, userAuthMethod: UserAuthMethod?) async throws {
        let world = VirtualWorld()
        let options = options(current)
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
        #expect("\(options.authMethod)" == "\(current)")
        #expect("\(options.userAuthMethod)" == "\(UserAuthMethod.noMethod)")
        try pusher.switchTo(
            endpoint: PusherEndpoint(host: "backend.test"),
            authMethod: .endpoint(Self.own),
            userAuthMethod: .noMethod
        )
    }

    @Test(
        "an authorization fails without a request if the app later sets an endpoint on the pinned host",
        arguments: [
            .endpoint(authEndpoint: own), .endpoint(own), .endpoint(AuthEndpoint(own, isBatching: true)),
            RequestBuilderTests.method(url: own),
        ] as [AuthMethod]
    )
    func laterEndpoint(method: AuthMethod) async throws {
        let world = VirtualWorld()
        let pusher = try await world.makeConnectedClient(options())
        pusher.connection.options.authMethod = method
        pusher.connection.options.userAuthMethod = .endpoint(Self.own)
        let channel = pusher.subscribe("private-a")
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        let cause = error?.cause as? AuthorizationError
        #expect(cause?.kind == .invalidRequest)
        #expect(cause?.message.contains("tls.pins cannot be checked for '\(Self.own)'") == true)
        await #expect(throws: PusherClientError.self) { try await world.complete { try await pusher.signedIn() } }
        #expect(world.server.authorizationRequests.isEmpty)
    }
}
