import Dispatch
import Foundation
import TestSupport

@testable import PusherClient

enum PusherClientSamples {
    private static let endpoint = AuthEndpoint(
        "https://ada:hush@app.test/auth?token=hush",
        headers: ["Authorization": "Bearer hush"],
        parameters: ["csrf": "hush"]
    )

    private static var options: PusherClientOptions {
        let options = PusherClientOptions(endpoint: PusherEndpoint(host: "ws.test", port: 1))
        options.authMethod = .endpoint(endpoint)
        options.userAuthMethod = .endpoint(endpoint)
        options.headers = ["Authorization": "Bearer hush"]
        options.queryItems = [URLQueryItem(name: "token", value: "hush")]
        options.proxy = SharedSamples.proxy
        options.tls = SharedSamples.tls
        return options
    }

    private static let access = TestServerAccess(
        appID: "1",
        key: "app-key",
        host: "127.0.0.1",
        port: 1,
        usesTLS: false,
        trustRoot: nil,
        secret: "hush",
        encryptionMasterKey: "hush",
        channelAuthorizationURL: "http://127.0.0.1:1/auth",
        userAuthenticationURL: "http://127.0.0.1:1/user-auth"
    )

    static func make() -> [Any] {
        let pusher = Pusher(key: "app-key", options: options)
        let auth = PusherAuth(auth: "app-key:\(PrintedTypesTests.signature)", channelData: "hush", sharedSecret: "hush")
        let channel = pusher.subscribe("private-encrypted-a", auth: auth)
        let presence = pusher.subscribeToPresenceChannel(channelName: "presence-a", auth: auth)
        let authorization = AuthorizationError(
            .refused,
            "Authorization failed: the backend refused.",
            address: "https://app.test/auth",
            httpStatus: 403,
            httpHeaders: ["Set-Cookie": "session=hush"]
        )
        let error = PusherClientError(.signInFailed, "Sign-in failed: see the cause.", cause: authorization)
        let subscription = SubscriptionError(
            .authorizationFailed,
            channelName: "private-a",
            "Refused.",
            cause: authorization
        )
        let event = PusherEvent(eventName: "e", channelName: "a", data: "1", userId: "ada")
        let member = PusherPresenceChannelMember(userId: "ada", userInfo: nil)
        _ = channel.bind(eventName: "e") { (_: PusherEvent) in }
        let events = channel.events(named: "e")
        let decoded = channel.events(named: "e", as: Int.self)
        let values = channel.values(named: "e", as: Int.self)
        let statistics = pusher.statistics
        let secrets: [Any] = [
            endpoint, endpoint.parameters, AuthEndpoint.Request(socketID: "1.2", channelNames: ["a"]),
            AuthMethod.endpoint(endpoint), AuthMethod.endpoint(authEndpoint: "https://ada:hush@app.test/?token=hush"),
            AuthMethod.inline(secret: "hush"), authorization, AuthorizationError.Recovery.retry(after: .zero),
            AuthorizationRequest(socketID: "1.2", channelName: "a"), auth, UserAuth(auth: "hush", userData: "hush"),
            UserAuthMethod.endpoint(endpoint), UserAuthMethod.inline(secret: "hush") { "{}" }, options, access,
            PusherClientOptions(testing: access), pusher, pusher.connection, channel, presence,
        ]
        let listeners: [Any] = [
            events, events.makeAsyncIterator(), decoded, decoded.makeAsyncIterator(), values,
            values.makeAsyncIterator(), event, EventPayload(eventName: "e", data: "1", channelName: "a"),
            TypedEvent(value: 1, event: event), channel.observe { _ in }, channel.eventHandlers["e"]?.first as Any,
            QueuedClientEvent(.init(event: "client-e", channel: "private-a", data: .string("1"))), member,
            MembershipChange.added(member), WatchlistEvent(name: "online", userIds: ["ada"]), pusher.user,
            pusher.user.watchlist, pusher.connection.globalChannel as Any, pusher.connection.channels,
        ]
        let others: [Any] = [
            ConnectionStatus.refused(error), error, PusherError(error), subscription,
            SubscriptionStatus.failed(subscription), RetryContext(retryCount: 1, elapsed: .zero, reason: error),
            StandardRetryPolicy.exponential(), PusherClientOptions.CallbackQueue.queue(.global()),
            PusherClientOptions.Limits(), PusherEndpoint(host: "ws.test"),
            PusherEndpoint.HTTPAddress(host: "h", port: 1), PusherHost.cluster("eu"), PusherTimeouts(),
            PusherTransports.webSocket, statistics, statistics.authorizations, statistics.clientEvents,
            statistics.connections, statistics.events, statistics.messages, statistics.pings, statistics.signIns,
            statistics.subscriptions, statistics.connections.recovery,
        ]
        return (secrets + listeners + others + SharedSamples.all).map(unwrapped)
    }
}

/// Returns the value inside an optional.
func unwrapped(_ value: Any) -> Any {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional, let child = mirror.children.first else { return value }
    return child.value
}
