import NIOCore

/// The subscriptions that the client has sent on one connection, and the server's answers.
struct SentSubscriptions: Sendable {
    /// The unanswered subscriptions with their times.
    private var unanswered: [String: NIODeadline] = [:]
    private var awaitedAnswers: [String: Int] = [:]
    /// The requested subscriptions that the client has not cancelled.
    private var asked: Set<String> = []
    private var confirmed: Set<String> = []
    private var confirmedInRead: Set<String> = []
    private var refusedInRead: Set<String> = []
    private var forgottenAt: NIODeadline?
    /// The requested channels that the server has confirmed on this connection, and that are still subscribed.
    private(set) var held: Set<String> = []

    func isConfirmed(_ channel: String) -> Bool { confirmed.contains(channel) }
    func isConfirmedInRead(_ channel: String) -> Bool { confirmedInRead.contains(channel) }

    // MARK: The client

    /// Records a subscription. Returns the violation, if there is one.
    mutating func subscribed(_ channel: String, _ now: NIODeadline, isDisturbed: Bool) -> String? {
        confirmed.remove(channel)
        asked.insert(channel)
        let isHeld = held.contains(channel)
        let last = unanswered.updateValue(now, forKey: channel)
        // After an error or the timeout, earlier requests are not pending any more.
        awaitedAnswers[channel] = last == nil ? 1 : awaitedAnswers[channel, default: 0] + 1
        // An error in the same read may count as the answer. A message that waited for a sleeping client may be sent
        // after the timeout.
        if isDisturbed || refusedInRead.contains(channel) || now == forgottenAt { unanswered[channel] = nil }
        if isHeld { return "the client subscribes \(channel), which is already subscribed" }
        if let last, now - last < .seconds(10) { return "the client subscribes \(channel) twice" }
        return nil
    }

    mutating func unsubscribed(_ channel: String) {
        confirmed.remove(channel)
        held.remove(channel)
        asked.remove(channel)
        unanswered[channel] = nil
    }

    /// Forgets unanswered requests, which may have timed out.
    mutating func forgetUnanswered(_ now: NIODeadline) {
        unanswered = [:]
        forgottenAt = now
    }

    // MARK: The server

    mutating func confirmed(_ channel: String, _ now: NIODeadline) {
        // A late confirmation may arrive when the client is about to subscribe again.
        let isInTime = unanswered.removeValue(forKey: channel).map { now - $0 < .seconds(10) } ?? false
        awaitedAnswers[channel] = max(0, awaitedAnswers[channel, default: 0] - 1)
        // If there was no request, the message is not an answer.
        guard awaitedAnswers[channel] == 0, asked.contains(channel) else { return }
        confirmed.insert(channel)
        confirmedInRead.insert(channel)
        if isInTime { held.insert(channel) }
    }

    mutating func refused(_ channel: String) {
        refusedInRead.insert(channel)
        unanswered[channel] = nil
        awaitedAnswers[channel] = max(0, awaitedAnswers[channel, default: 0] - 1)
        confirmed.remove(channel)
        held.remove(channel)
    }

    /// Handles an error without a channel. The text may contain a channel's name.
    mutating func failed(_ text: String) {
        unanswered = [:]
        confirmed = confirmed.filter { !text.contains($0) }
        held = held.filter { !text.contains($0) }
    }

    mutating func readCompleted() {
        confirmedInRead = []
        refusedInRead = []
    }

    // MARK: The app

    mutating func forgotten(_ channel: String) {
        confirmed.remove(channel)
        confirmedInRead.remove(channel)
    }
}
