import ClientTestSupport
import Foundation
import PusherEncryption
import PusherTestServer
import RealtimeNetworking
import TestTLS
import TestTraits
import Testing

@testable import PusherClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Every way to authorize, over real sockets", .limited)
struct AuthorizationOverSocketsTests {
    enum Strategy: CaseIterable {
        case endpoint, endpointWithHeaders, getEndpoint, batchingEndpoint, requestBuilder
        case completion, closure, batch, inline, inlineWithMasterKey

        func method(_ server: PusherTestServer) -> AuthMethod {
            let url = server.url + "/pusher/auth"
            let backend = Backend(server: server)
            return switch self {
            case .endpoint: .endpoint(authEndpoint: url)
            case .endpointWithHeaders: .endpoint(url, headers: ["X-Tenant": "7"])
            case .getEndpoint: .endpoint(url, method: "get", parameters: ["user_info": #"{"age":36}"#])
            case .batchingEndpoint: .endpoint(AuthEndpoint(url, isBatching: true))
            case .requestBuilder: .authRequestBuilder(authRequestBuilder: RequestBuilder(url: url))
            case .completion: .authorizer(authorizer: CompletionAuthorizer(backend: backend))
            case .closure: .authorizer { request in backend.auth(request) }
            case .batch: .batchAuthorizer(backend.auths)
            case .inline: .inline(secret: server.options.application.secret)
            case .inlineWithMasterKey:
                .inline(
                    secret: server.options.application.secret,
                    encryptionMasterKey: server.options.encryptionMasterKey
                )
            }
        }

        var channels: [String] {
            let channels = ["private-a", "private-cache-a", "presence-a", "presence-cache-a"]
            return self == .inline || !SecretBox.isAvailable
                ? channels : channels + ["private-encrypted-a", "private-encrypted-cache-a"]
        }
    }

    @Test(
        "the client authorizes each kind of channel and gets its events",
        arguments: Strategy.allCases,
        [false, true]
    )
    func everyKind(strategy: Strategy, useTLS: Bool) async throws {
        let certificates = TestCertificates()
        var options = PusherTestServer.Options()
        if useTLS {
            options.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        }
        try await PusherTestServer.withServer(options: options) { server in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: strategy.method(server),
                    host: .host(server.host),
                    port: server.port,
                    useTLS: server.usesTLS,
                    timeouts: .patient,
                    tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)),
                    logger: .quiet
                )
            )
            pusher.connection.userDataFetcher = { PusherPresenceChannelMember(userId: "ada", userInfo: ["age": 36]) }
            let channels = strategy.channels.map { name in pusher.subscribe(name) }
            try await pusher.connected()
            for channel in channels {
                var events = channel.events(named: "created").makeAsyncIterator()
                try await channel.subscribed()
                try server.publish(event: "created", data: channel.name, to: channel.name)
                #expect(await events.next()?.data == channel.name)
            }
            let presence = pusher.connection.channels.findPresence(name: "presence-a")
            #expect(presence?.members.count == 1)
            #expect(presence?.me() != nil)
            await pusher.disconnected()
        }
    }

    @Test("an authorization request has exactly the bytes that the protocol demands")
    func bytes() async throws {
        try await PusherTestServer.withServer { server in
            let endpoint = AuthEndpoint(
                server.url + "/pusher/auth",
                headers: ["Authorization": "Bearer hush-one"],
                parameters: ["team": "a b&c=é"],
                headersProvider: { request in ["X-Socket": request.socketID] }
            )
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: .endpoint(endpoint),
                    host: .host(server.host),
                    port: server.port,
                    useTLS: false,
                    timeouts: .patient,
                    logger: .quiet
                )
            )
            let channel = pusher.subscribe("private-a=@,.;b")
            let socketID = try await pusher.connected()
            try await channel.subscribed()
            let request = try #require(server.authorizationRequests.first)
            #expect(
                String(decoding: request.body, as: UTF8.self)
                    == "socket_id=\(socketID)&channel_name=private-a%3D%40%2C.%3Bb&team=a%20b%26c%3D%C3%A9"
            )
            #expect(request.method == "POST")
            #expect(request.header("Content-Type") == "application/x-www-form-urlencoded")
            #expect(request.header("Authorization") == "Bearer hush-one")
            #expect(request.header("X-Socket") == socketID)
            await pusher.disconnected()
        }
    }

    @Test("a GET request has the form in its query, for channels and for users")
    func get() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: Strategy.getEndpoint.method(server),
                    host: .host(server.host),
                    port: server.port,
                    useTLS: false,
                    userAuthMethod: .endpoint(server.url + "/pusher/user-auth", method: "GET"),
                    timeouts: .patient,
                    logger: .quiet
                )
            )
            let channel = pusher.subscribe("private-a=@,.;b")
            let socketID = try await pusher.connected()
            try await channel.subscribed()
            try await pusher.signedIn()
            #expect(server.authorizationRequests.map(\.method) == ["GET", "GET"])
            #expect(server.authorizationRequests.map(\.body) == [[], []])
            #expect(
                server.authorizationRequests.map(\.query) == [
                    "socket_id=\(socketID)&channel_name=private-a%3D%40%2C.%3Bb&user_info=%7B%22age%22%3A36%7D",
                    "socket_id=\(socketID)",
                ]
            )
            await pusher.disconnected()
        }
    }

    @Test(
        "the client follows a redirect with the body, and does not wait forever for a backend that hangs",
        .limited
    )
    func redirectAndHang() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: .endpoint(authEndpoint: server.url + "/pusher/auth"),
                    host: .host(server.host),
                    port: server.port,
                    useTLS: false,
                    timeouts: .init(authorization: .milliseconds(200)),
                    limits: .init(authorizationTries: 1),
                    logger: .quiet
                )
            )
            try await pusher.connected()
            server.failAuthorizations(for: "private-stuck", with: .unanswered)
            let stuck = pusher.subscribe("private-stuck")
            let error = await #expect(throws: SubscriptionError.self) { try await stuck.subscribed() }
            #expect(error?.code == .authorizationFailed)
            await pusher.disconnected()
        }
        try await PusherTestServer.withServer { server in
            server.failAuthorizations(1, with: .redirected(status: 302, to: "/pusher/auth?again"))
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: .endpoint(authEndpoint: server.url + "/pusher/auth"),
                    host: .host(server.host),
                    port: server.port,
                    useTLS: false,
                    timeouts: .patient,
                    logger: .quiet
                )
            )
            let channel = pusher.subscribe("private-a")
            try await pusher.connected()
            try await channel.subscribed()
            #expect(server.authorizationRequests.map(\.method) == ["POST", "POST"])
            await pusher.disconnected()
        }
    }
}

extension AuthorizationOverSocketsTests {
    @Test(
        "a redirect to another origin fails the subscription without a request to that origin",
        .limited
    )
    func redirectedElsewhere() async throws {
        try await PusherTestServer.withServer { other in
            try await PusherTestServer.withServer { server in
                server.failAuthorizations(with: .redirected(status: 307, to: other.url + "/pusher/auth"))
                let pusher = Pusher(
                    server,
                    authMethod: .endpoint(server.url + "/pusher/auth", headers: ["X-Token": "hush"])
                )
                let channel = pusher.subscribe("private-a")
                try await pusher.connected()
                let error = await #expect(throws: SubscriptionError.self) { try await channel.subscribed() }
                let cause = error?.cause as? AuthorizationError
                #expect(cause?.code == .redirectRefused)
                #expect(cause?.recovery == AuthorizationError.Recovery.none)
                #expect(error?.message.contains("from \(server.url) to \(other.url)") == true)
                #expect(server.authorizationRequests.count == 1)
                #expect(other.authorizationRequests.isEmpty)
                await pusher.disconnected()
            }
        }
    }
}

/// A backend that authorizes channels and users.
private struct Backend: Sendable {
    let server: PusherTestServer

    func auth(_ request: AuthorizationRequest) -> PusherAuth {
        let isPresence = PusherChannelType.isPresenceChannel(name: request.channelName)
        let signed = server.authorization(
            forSocket: request.socketID,
            channel: request.channelName,
            channelData: isPresence ? #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"# : nil
        )
        return PusherAuth(auth: signed.auth, channelData: signed.channelData, sharedSecret: signed.sharedSecret)
    }
}

private struct RequestBuilder: AuthRequestBuilderProtocol {
    let url: String

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        guard let url = URL(string: url) else { return nil }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("socket_id=\(socketID)&channel_name=\(channelName)".utf8)
        return request
    }
}

private struct CompletionAuthorizer: Authorizer {
    let backend: Backend

    func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    ) {
        completionHandler(backend.auth(AuthorizationRequest(socketID: socketID, channelName: channelName)))
    }
}

extension Backend {
    @Sendable fileprivate func auths(
        _ requests: [AuthorizationRequest]
    ) async throws -> [String: Result<PusherAuth, any Error>] {
        Dictionary(uniqueKeysWithValues: requests.map { ($0.channelName, .success(auth($0))) })
    }
}
