import PusherProtocol

@testable import PusherCore

/// All inputs of a subscription.
enum SubscriptionInput: CaseIterable {
    case subscribe, subscribeWithOwnAuthorization, unsubscribe
    case authorized, authorizationFailed, authorizationPostponed, authorizationUnusable, authorizationTimer
    case success, error, refusal, existing, subscriptionTimer, nextTry
    case loss, reconnect, disconnect
    case signInSucceeded, signInFailed
    case staleAnswer, staleTimer
}

extension SubscriptionInput {
    func apply(to client: inout CoreClient, _ name: String) -> Transcript {
        switch self {
        case .subscribe: return client.subscribe(name)
        case .subscribeWithOwnAuthorization:
            return client.subscribe(name, auth: .good(AuthorizationQuestion(.channel(name), socketID: "1.1")))
        case .unsubscribe: return client.unsubscribe(name)
        case .authorized: return client.authorized(name)
        case .authorizationFailed: return client.authorized(name, .failure(AuthorizationError(.refused, "no")))
        case .authorizationPostponed: return client.authorized(name, .busy)
        case .authorizationUnusable: return client.authorized(name, .success(Authorization(auth: "")))
        case .authorizationTimer: return client.fire(.authorization)
        case .success: return client.received(.anySuccess(name))
        case .error: return client.received(.error(nil, "Auth info required to subscribe to \(name)"))
        case .refusal: return client.received(.refusal(name))
        case .existing: return client.received(.error(nil, "Existing subscription to channel \(name)"))
        case .subscriptionTimer:
            client.suspend(for: .seconds(10))
            return client.fire(.subscription)
        case .nextTry: return client.fire(.nextTry)
        case .loss: return client.closed()
        case .reconnect: return client.closed() + client.connect() + client.establish()
        case .disconnect: return client.disconnect()
        case .signInSucceeded: return client.authorized(nil) + client.received(.signedIn("u"))
        case .signInFailed: return client.authorized(nil, .failure(AuthorizationError(.refused, "no")))
        case .staleAnswer:
            let good = Authorization(
                auth: "key:0.0/\(name)",
                data: #"{"user_id":"1"}"#,
                sharedSecret: TestKey.first.base64
            )
            let asked = client.ledger.authorizations.keys
            let stale = asked.flatMap { [AuthorizationTry($0.id, number: 0), AuthorizationTry($0.id, number: 2)] }
            return (stale + [AuthorizationTry(AuthorizationID(rawValue: .max), number: 1)])
                .map { client.answer($0, .success(good)) }.reduce([], +)
        case .staleTimer:
            return TimerID.Purpose.allCases.map { client.fire(TimerID($0, .max)) }.reduce([], +)
        }
    }
}

extension Result<Authorization, AuthorizationError> {
    /// A failure that may pass.
    static let busy = Self.failure(
        AuthorizationError(.refused, "busy", httpStatus: 503, recovery: .retry(after: .zero))
    )
}
