import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests every pair of a phase and an input, for each kind of channel. A pair that is not in the table must change
/// nothing and have no effect. The ledger checks timers and authorizations after each input.
@Suite("Table: the effect of each input on a subscription in each phase", .limited)
struct SubscriptionTableTests {
    typealias Row = [SubscriptionInput: String]

    @Test(
        "Each input in each phase has the effects in the table",
        arguments: [
            "a", "cache-a", "private-a", "private-cache-a", "private-encrypted-a", "private-encrypted-cache-a",
            "presence-a", "presence-cache-a",
        ],
        SubscriptionSituation.allCases
    )
    func inputs(channel: String, situation: SubscriptionSituation) throws {
        let kind = ChannelKind(ofChannelNamed: channel)
        guard situation.exists(for: kind) else { return }
        let row = try #require(Self.table[situation])
        let name = situation.name(channel)
        for input in SubscriptionInput.allCases {
            var client = situation.client(channel)
            try #require(client.phase(of: name) == situation.phase)
            let acts = input.apply(to: &client, name).acts.words.filter { word in
                !["open", "close", "report connectionClosed"].contains { word.hasPrefix($0) }
            }
            let outcome = ([client.phase(of: name)] + acts).joined(separator: ", ")
            let expected = row[input] ?? Self.elsewhere(situation)[input] ?? situation.phase
            #expect(outcome == Self.words(expected, kind, name), "\(situation), \(input)")
        }
    }

    /// Fills in the parts of the table that depend on the kind of channel.
    private static func words(_ expected: String, _ kind: ChannelKind, _ name: String) -> String {
        var words = expected
        for number in 1...2 {
            let begin =
                kind.requiresAuthorization
                ? "authorizing, authorize x for \(number).1" : "subscribing, send \(number) subscribe x"
            words = words.replacing("{begin \(number)}", with: begin)
            // Rows with this marker name the phase themselves, so the marker contains only the new authorization.
            words = words.replacing("{ask \(number)}", with: "authorize x for \(number).1")
        }
        let isPresence = kind.base == .presence
        return
            words
            .replacing(
                "{doubted}",
                with: """
                    \(kind.requiresAuthorization ? "authorizing" : "subscribing"), report subscriptionRefused 401 of x, \
                    send 1 unsubscribe x, \(kind.requiresAuthorization ? "authorize x for 1.1" : "send 1 subscribe x")
                    """
            )
            .replacing(
                "{subscribed}",
                with: isPresence ? "subscribed, members x 1, subscribed x" : "subscribed, subscribed x"
            )
            .replacing(
                "{subscribed late}",
                with: "subscribed, forget the authorization, \(isPresence ? "members x 1, " : "")subscribed x"
            )
            .replacing("{confirmed again}", with: isPresence ? "subscribed, members x 1" : "subscribed")
            .replacing(
                "{existing}",
                with: isPresence ? "subscribing, send 1 unsubscribe x, send 1 subscribe x" : "subscribed, subscribed x"
            )
            .replacing(" x", with: " \(name)")
    }

    /// The rows for errors while no request is pending. The client only reports these errors.
    private static func elsewhere(_ situation: SubscriptionSituation) -> Row {
        guard !situation.isPending, situation != .idle else { return [:] }
        return [
            .error: "\(situation.phase), report serverError", .existing: "\(situation.phase), report serverError",
            .refusal: "\(situation.phase), report subscriptionRefused 401 of x",
        ]
    }

    static let authorizing: Row = [
        .subscribeWithOwnAuthorization: "subscribing, forget the authorization, send 1 subscribe x",
        .unsubscribe: "gone, retired x, forget the authorization",
        // This success answers a subscription that the app has cancelled.
        .success: "authorizing, send 1 unsubscribe x",
        .authorized: "subscribing, send 1 subscribe x",
        .authorizationFailed: "failed authorizationFailed, failed x authorizationFailed",
        .authorizationUnusable: "failed invalidAuthorization, failed x invalidAuthorization",
        .authorizationTimer: "retrying, forget the authorization", .authorizationPostponed: "retrying",
        .loss: "idle, forget the authorization", .disconnect: "idle, forget the authorization",
        .reconnect: "authorizing, forget the authorization, {ask 2}",
    ]

    static let table: [SubscriptionSituation: Row] = [
        .absent: [
            .subscribe: "{begin 1}", .subscribeWithOwnAuthorization: "subscribing, send 1 subscribe x",
            .success: "gone, send 1 unsubscribe x",
        ],
        .idle: [.unsubscribe: "gone, retired x", .reconnect: "{begin 1}"],
        .authorizing: authorizing,
        .authorizingAnew: authorizing.merging([
            .success: "{subscribed late}",
            .unsubscribe: "gone, retired x, forget the authorization, send 1 unsubscribe x",
        ]) { _, new in new },
        // The user's authorization is pending.
        .awaitingSignIn: [
            .subscribeWithOwnAuthorization: "subscribing, send 1 subscribe x",
            .success: "awaitingSignIn, send 1 unsubscribe x",
            .unsubscribe: "gone, retired x", .authorizationTimer: "awaitingSignIn, forget the authorization",
            .loss: "idle, forget the authorization", .disconnect: "idle, forget the authorization",
            .reconnect: "authorizing, forget the authorization, authorize the user for 2.1, {ask 2}",
            .signInSucceeded: """
            subscribing, send 1 signin, send 1 subscribe #server-to-user-u, signed in u, send 1 subscribe x
            """,
            .signInFailed: "failed invalidAuthorization, sign-in signInFailed, failed x invalidAuthorization",
        ],
        .subscribing: [
            .unsubscribe: "subscribingUnwanted, retired x", .success: "{subscribed}",
            .error: "failed subscriptionRefused, report serverError of x, failed x subscriptionRefused",
            .refusal: "failed subscriptionRefused, failed x subscriptionRefused 401", .existing: "{existing}",
            .subscriptionTimer: "retrying",
            .loss: "idle", .disconnect: "idle", .reconnect: "{begin 2}",
        ],
        .unwanted: [
            .subscribe: "subscribing", .subscribeWithOwnAuthorization: "subscribing",
            .success: "gone, send 1 unsubscribe x", .error: "gone, report serverError of x", .refusal: "gone",
            .existing: "gone, send 1 unsubscribe x", .subscriptionTimer: "gone, send 1 unsubscribe x",
            .loss: "gone", .disconnect: "gone", .reconnect: "gone",
        ],
        .subscribed: [
            .unsubscribe: "gone, retired x, send 1 unsubscribe x", .success: "{confirmed again}",
            .refusal: "{doubted}",
            .loss: "idle", .disconnect: "idle", .reconnect: "{begin 2}",
        ],
        // The client accepts a late success. The server may only have been slow, or the error may belong to another
        // request.
        .refused: failed.merging([.success: "{subscribed}"]) { _, new in new },
        .timedOut: retrying.merging([
            .success: "{subscribed}", .unsubscribe: "gone, retired x, send 1 unsubscribe x",
            .nextTry: "subscribing, send 1 subscribe x",
        ]) { _, new in new },
        .postponed: retrying,
        .unauthorized: failed.merging([
            .success: "failed authorizationFailed, send 1 unsubscribe x"
        ]) { _, new in new },
        .unusable: failed.merging([
            .success: "failed invalidAuthorization, send 1 unsubscribe x"
        ]) { _, new in new },
        .invalid: [.unsubscribe: "gone, retired x"],
    ]

    static let retrying: Row = [
        .subscribeWithOwnAuthorization: "subscribing, send 1 subscribe x", .nextTry: "{begin 1}",
        .success: "retrying, send 1 unsubscribe x",
        .unsubscribe: "gone, retired x", .loss: "idle", .disconnect: "idle", .reconnect: "{begin 2}",
    ]

    static let failed: Row = [
        .subscribe: "{begin 1}", .subscribeWithOwnAuthorization: "subscribing, send 1 subscribe x",
        .unsubscribe: "gone, retired x", .loss: "idle", .disconnect: "idle", .reconnect: "{begin 2}",
    ]
}
