import PusherProtocol

@testable import PusherCore

/// The states and events that a random walk has reached. `RandomWalkTests` fails if a required event is missing.
struct Coverage {
    private(set) var counts: [String: Int] = [:]

    /// The events that must happen. If one of these events does not happen, the walk needs another mixture of steps.
    static let required: Set<String> = [
        "sign-in", "sign-in failed", "members", "members with a difference", "member added", "member removed",
        "event held", "key refresh", "read after a refresh", "unreadable", "client event", "client event paced",
        "retried", "authorization queued", "authorization timed out", "presence waits for sign-in",
        "started over", "wanted again", "refused", "timed out", "confirmed late", "own event of the user",
        "keep-alive",
        "subscription queued", "subscriptions paced",
    ]

    mutating func record(_ effects: [Effect], _ machine: ClientStateMachine) {
        for effect in effects {
            switch effect {
            case .signedIn: count("sign-in")
            case .signInFailed: count("sign-in failed")
            case .deliverToUser: count("own event of the user")
            case .membersReplaced(_, _, let difference):
                count("members")
                if !difference.added.isEmpty || !difference.removed.isEmpty { count("members with a difference") }
            case .memberAdded: count("member added")
            case .memberRemoved: count("member removed")
            case .failedToDecrypt: count("unreadable")
            case .sendClientEvent: count("client event")
            case .schedule(let timer, _) where timer.purpose == .clientEvents: count("client event paced")
            case .schedule(let timer, _) where timer.purpose == .nextTry: count("retried")
            case .schedule(let timer, _) where timer.purpose == .keepAlive: count("keep-alive")
            case .schedule(let timer, _) where timer.purpose == .subscriptionPace: count("subscriptions paced")
            case .authorize(let questions):
                if questions.count > 1 { count("authorizations in one request") }
                for (id, question) in questions { authorize(id, question, machine) }
            case .askRetryPolicy(.request, let context):
                if (context.reason.cause as? AuthorizationError)?.code == .timedOut { count("authorization timed out") }
            case .subscriptionFailed(_, let error, _) where error.code == .subscriptionRefused: count("refused")
            case .subscriptionFailed(_, let error, _) where error.code == .subscriptionTimedOut: count("timed out")
            default: break
            }
        }
        if machine.authorizations.jobs.values.contains(where: { $0.phase == .queued }) { count("authorization queued") }
        for subscription in machine.subscriptions.values { record(subscription, effects) }
    }

    private mutating func authorize(
        _ id: AuthorizationTry,
        _ question: AuthorizationQuestion,
        _ machine: ClientStateMachine
    ) {
        guard case .channel(let name) = question.subject else { return }
        if machine.subscriptions[name]?.decryption?.phase == .refreshing(id.id) { count("key refresh") }
    }

    private mutating func record(_ subscription: SubscriptionStateMachine, _ effects: [Effect]) {
        if case .awaitingSignIn = subscription.phase { count("presence waits for sign-in") }
        if subscription.isQueued { count("subscription queued") }
        if case .subscribing(_, let request) = subscription.phase, request.hasStartedOver { count("started over") }
        if let held = subscription.decryption?.held, held.count > 1 { count("event held") }
    }

    /// Records events that only a comparison of the states before and after an input shows.
    mutating func record(before: ClientStateMachine, after: ClientStateMachine, _ effects: [Effect]) {
        for old in before.subscriptions.values {
            guard let new = after.subscriptions[old.name] else { continue }
            if !old.isWanted, new.isWanted { count("wanted again") }
            switch old.phase {
            case .failed, .retrying: if new.phase == .subscribed { count("confirmed late") }
            default: break
            }
            guard case .refreshing? = old.decryption?.phase else { continue }
            let isRead = effects.contains { effect in
                if case .deliver(.channel(new.id), let event) = effect { event.event.hasPrefix("e") } else { false }
            }
            if isRead { count("read after a refresh") }
        }
    }

    private mutating func count(_ what: String) { counts[what, default: 0] += 1 }

    static func + (left: Coverage, right: Coverage) -> Coverage {
        var sum = left
        sum.counts.merge(right.counts, uniquingKeysWith: +)
        return sum
    }
}
