import PusherEncryption
import PusherProtocol

/// Requests authorizations for a connection, checks the answers, and uses them on this connection only.
extension ClientStateMachine {
    /// Makes the requests for the questions that were queued in an earlier turn of the event loop.
    ///
    /// - Parameter batchSize: The maximum number of channels in one request.
    package mutating func authorizationsGathered(batchSize: Int, now: Instant, into effects: inout [Effect]) {
        isGathering = false
        let actions = connection.session?.authorizations.gathered(batchSize: batchSize, configuration)
        perform(actions ?? [], now: now, into: &effects)
    }

    /// Handles the answer of an authorizer.
    package mutating func authorized(
        _ answered: AuthorizationTry,
        _ result: Result<Authorization, AuthorizationError>,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let actions = connection.session?.authorizations.answered(answered, result, configuration, now: now)
        perform(actions ?? [], now: now, into: &effects)
    }

    mutating func perform(
        _ actions: [AuthorizationStateMachine.Action],
        now: Instant,
        into effects: inout [Effect]
    ) {
        for action in actions {
            switch action {
            case .gather:
                guard !isGathering else { continue }
                isGathering = true
                effects.append(.gatherAuthorizations)
            case .ask(let questions):
                statistics.authorizations.tries += questions.count
                effects.append(.authorize(questions))
            case .cancel(let asked): effects.append(.cancelAuthorization(asked))
            case .setTimer(let id, let delay): timers.set(.authorization, of: id.rawValue, after: delay, into: &effects)
            case .cancelTimer(let id): timers.cancel(.authorization, of: id.rawValue, into: &effects)
            case .finish(let outcome): finish(outcome, now: now, into: &effects)
            }
        }
    }

    private mutating func finish(
        _ outcome: AuthorizationStateMachine.Outcome,
        now: Instant,
        into effects: inout [Effect]
    ) {
        switch outcome.result {
        case .success:
            statistics.authorizations.succeeded += 1
            statistics.authorizations.latency.add(outcome.duration)
        case .failure:
            statistics.authorizations.failed += 1
        }
        switch outcome.subject {
        case .user:
            guard case .authorizing(outcome.id)? = session?.signIn.phase else { return }
            signInAuthorized(outcome.result, now: now, into: &effects)
        case .channel(let name):
            if case .authorizing(outcome.id)? = subscriptions.read(name, { $0.phase }) {
                subscriptionAuthorized(name, outcome.result, now: now, into: &effects)
            } else if subscriptions.read(name, { $0.keyAuthorization }) == outcome.id {
                keyRefreshed(name, outcome.result, now: now, into: &effects)
            }
        }
    }

    mutating func beginAuthorization(
        of subject: AuthorizationQuestion.Subject,
        socketID: String,
        now: Instant,
        into effects: inout [Effect]
    ) -> AuthorizationID {
        let id = AuthorizationID(rawValue: nextSerial())
        statistics.authorizations.begun += 1
        let actions = connection.session?.authorizations.begin(
            id,
            AuthorizationQuestion(subject, socketID: socketID),
            configuration,
            now: now
        )
        perform(actions ?? [], now: now, into: &effects)
        return id
    }

    /// Cancels authorizations that are no longer needed.
    mutating func cancelAuthorizations(_ ids: [AuthorizationID], now: Instant, into effects: inout [Effect]) {
        guard !ids.isEmpty else { return }
        let count = authorizations.jobs.count
        let actions = connection.session?.authorizations.cancel(ids, configuration) ?? []
        statistics.authorizations.cancelled += count - authorizations.jobs.count
        perform(actions, now: now, into: &effects)
    }

    // MARK: Channels

    mutating func subscriptionAuthorized(
        _ name: String,
        _ result: Result<Authorization, AuthorizationError>,
        now: Instant,
        into effects: inout [Effect]
    ) {
        switch result {
        case .success(let authorization):
            do throws(Authorization.Problem) {
                try accept(authorization, for: name, now: now, into: &effects)
            } catch {
                failSubscription(name, .invalidAuthorization(name, error), now: now, into: &effects)
            }
        case .failure(let error):
            let isUsedUp = error.code == .noMethod && subscriptions[name]?.hasUsedOwnAuthorization == true
            let failure = isUsedUp ? .authorizationUsedUp(name, error) : SubscriptionError(error, channelName: name)
            guard let delay = retryDelay(after: error, of: .channel(name)) else {
                return failSubscription(name, failure, now: now, into: &effects)
            }
            postponeSubscription(to: name, failure, notBefore: delay, now: now, into: &effects)
        }
    }

    /// Sends the subscription with its authorization, or keeps the authorization until the user is signed in.
    private mutating func accept(
        _ authorization: Authorization,
        for name: String,
        now: Instant,
        into effects: inout [Effect]
    ) throws(Authorization.Problem) {
        guard let (hasDecryption, hasRoster) = subscriptions.read(name, { ($0.decryption != nil, $0.roster != nil) })
        else { return }
        try Self.check(authorization)
        if hasDecryption {
            guard let secret = authorization.sharedSecret else { throw .noSharedSecret }
            if let key = SecretKey(base64: secret) {
                updateDecryption(name, now: now, into: &effects) { $0.received(key, now: now) }
            } else {
                // The backend may return a usable key when the client fetches it again for the first event.
                effects.append(.report(.malformedSharedSecret(name)))
                updateDecryption(name, now: now, into: &effects) { $0.receivedUnusableKey(now: now) }
            }
        }
        if hasRoster {
            let userID: String
            if let data = authorization.data {
                userID = try Self.userID(of: data)
            } else if let user = signIn.user {
                userID = user.id
            } else {
                guard signIn.isUnderWay else { throw .noChannelData }
                subscriptions.update(name) { $0.awaitSignIn(authorization) }
                return
            }
            subscriptions.update(name) { $0.roster?.myID = userID }
        }
        var request = SubscriptionStateMachine.Request(authorization: authorization)
        request.authorization?.sharedSecret = nil
        sendSubscription(to: name, request, now: now, into: &effects)
    }

    /// Continues presence channels that waited for the sign-in, after the sign-in has succeeded or failed, or after a
    /// sign-out.
    mutating func continuePresenceSubscriptions(now: Instant, into effects: inout [Effect]) {
        for subscription in wantedSubscriptions {
            guard case .awaitingSignIn(let authorization) = subscription.phase else { continue }
            subscriptionAuthorized(subscription.name, .success(authorization), now: now, into: &effects)
        }
    }

    // MARK: Checks

    /// The maximum size of `auth`, in bytes.
    package static let maximumAuthLength = 1_024
    /// The maximum size of `channel_data` or `user_data`, in bytes.
    package static let maximumDataLength = 100_000

    /// Checks the parts of an authorization that no other source can supply. A signed-in user replaces a missing
    /// `channel_data`, and a later answer replaces a malformed `shared_secret`.
    package static func check(
        _ authorization: Authorization,
        for subject: AuthorizationQuestion.Subject
    ) throws(Authorization.Problem) {
        switch subject {
        case .user:
            _ = try userID(ofUser: authorization)
        case .channel(let name):
            try check(authorization)
            let kind = ChannelKind(ofChannelNamed: name).base
            if kind == .privateEncrypted, authorization.sharedSecret == nil { throw .noSharedSecret }
            if kind == .presence, let data = authorization.data { _ = try userID(of: data) }
        }
    }

    static func check(_ authorization: Authorization) throws(Authorization.Problem) {
        if authorization.auth.isEmpty { throw .noAuth }
        if authorization.auth.utf8.contains(where: { $0 == 0x20 || (0x09...0x0D).contains($0) }) { throw .spacedAuth }
        if !authorization.auth.contains(":") { throw .malformedAuth }
        if authorization.auth.utf8.count > maximumAuthLength { throw .longAuth }
        if let data = authorization.data, data.utf8.count > maximumDataLength { throw .longData }
    }

    private static func userID(of data: String) throws(Authorization.Problem) -> String {
        guard let value = JSONValue(parsing: data), value.object != nil else { throw .channelDataIsNoObject }
        guard let id = value["user_id"]?.identifier, !id.isEmpty else { throw .channelDataHasNoUserID }
        return id
    }
}
