import PusherProtocol
import Testing

@testable import PusherCore

/// The phases of a subscription. Some phases have several cases with a different history.
enum SubscriptionSituation: CaseIterable {
    case absent
    /// There is no connection yet.
    case idle
    case authorizing, awaitingSignIn, subscribing
    /// The client authorizes again because the server did not answer in time.
    case authorizingAnew
    /// The app has unsubscribed, and the server has not answered.
    case unwanted
    case subscribed
    case refused, unauthorized, unusable
    /// The client waits before it tries again, because the server, or the backend, did not answer.
    case timedOut, postponed
    case invalid

    var phase: String {
        switch self {
        case .absent: "gone"
        case .unwanted: "subscribingUnwanted"
        case .authorizingAnew: "authorizing"
        case .refused: "failed subscriptionRefused"
        case .timedOut, .postponed: "retrying"
        case .unauthorized: "failed authorizationFailed"
        case .unusable: "failed invalidAuthorization"
        case .idle, .authorizing, .awaitingSignIn, .subscribing, .subscribed, .invalid: "\(self)"
        }
    }

    var isPending: Bool { self == .subscribing || self == .unwanted }

    /// Whether a channel of this kind can be in this phase. Only presence channels wait for a sign-in, and public
    /// channels wait for no authorization.
    func exists(for kind: ChannelKind) -> Bool {
        switch self {
        case .awaitingSignIn: kind.base == .presence
        case .authorizing, .authorizingAnew, .unauthorized, .postponed, .unusable: kind.requiresAuthorization
        case .absent, .idle, .subscribing, .unwanted, .subscribed, .refused, .timedOut, .invalid: true
        }
    }

    func name(_ channel: String) -> String { self == .invalid ? "\(channel) b" : channel }

    /// Returns a client whose channel is in this phase, on the first connection.
    func client(_ channel: String) -> CoreClient {
        let name = name(channel)
        var client = self == .idle ? CoreClient() : CoreClient.connected()
        if self == .absent { return client }
        if self == .awaitingSignIn { client.signIn() }
        client.subscribe(name)
        switch self {
        case .absent, .idle, .authorizing, .invalid: return client
        case .unauthorized: client.authorized(name, .failure(AuthorizationError(.refused, "no")))
        case .postponed:
            client.authorized(name, .busy)
            client.decide(.seconds(1))
        case .unusable: client.authorized(name, .success(Authorization(auth: "")))
        case .awaitingSignIn: client.authorized(name, .success(Authorization(auth: "key:1.1/\(name)")))
        case .subscribing, .authorizingAnew, .unwanted, .subscribed, .refused, .timedOut: client.authorized(name)
        }
        switch self {
        case .unwanted: client.unsubscribe(name)
        case .subscribed: client.received(.anySuccess(name))
        case .refused: client.received(.refusal(name))
        case .timedOut:
            client.advance(by: .seconds(10))
            client.decide(.seconds(1))
        case .authorizingAnew:
            client.advance(by: .seconds(10))
            client.decide(nil)
            client.subscribe(name)
        case .absent, .idle, .authorizing, .awaitingSignIn, .subscribing, .unauthorized, .postponed, .unusable,
            .invalid:
            break
        }
        return client
    }
}

extension Envelope {
    /// Returns a success in the form for the kind of channel.
    static func anySuccess(_ channel: String) -> Envelope {
        ChannelKind(ofChannelNamed: channel).base == .presence ? .members(channel, ["1"]) : .success(channel)
    }
}

extension CoreClient {
    /// Returns the phase of a channel as a string.
    func phase(of name: String) -> String {
        guard let subscription = machine.subscriptions[name] else { return "gone" }
        return switch subscription.phase {
        case .idle: "idle"
        case .authorizing: "authorizing"
        case .awaitingSignIn: "awaitingSignIn"
        case .queued: "queued"
        case .subscribing: "subscribing"
        case .subscribingUnwanted: "subscribingUnwanted"
        case .subscribed: "subscribed"
        case .retrying: "retrying"
        case .failed(let error): "failed \(error.code)"
        case .invalid: "invalid"
        }
    }
}
