import NIOCore

/// The subscriptions that the client has sent on one connection, and what the server has answered.
struct SentSubscriptions: Sendable {
    /// Those that are not answered, and when they were sent.
    private var unanswered: [String: NIODeadline] = [:]
    private var awaitedAnswers: [String: Int] = [:]
    /// Those that the client has asked for, and not given up since.
    private var asked: Set<String> = []
    private var confirmed: Set<String> = []
    private var confirmedInRead: Set<String> = []
    private var refusedInRead: Set<String> = []
    private var forgottenAt: NIODeadline?
    /// The channels that the server has for this connection, if it has said so after it was asked, and neither side
    /// has said since that this is over.
    private(set) var held: Set<String> = []

    func isConfirmed(_ channel: String) -> Bool { confirmed.contains(channel) }
    func isConfirmedInRead(_ channel: String) -> Bool { confirmedInRead.contains(channel) }

    // MARK: The client

    /// What is wrong with it, if something is.
    mutating func subscribed(_ channel: String, _ now: NIODeadline, isDisturbed: Bool) -> String? {
        confirmed.remove(channel)
        asked.insert(channel)
        let isHeld = held.contains(channel)
        let last = unanswered.updateValue(now, forKey: channel)
        // What came before an error, or before the time for an answer was over, is not waited for any more.
        awaitedAnswers[channel] = last == nil ? 1 : awaitedAnswers[channel, default: 0] + 1
        // An error in the same read may be taken for the answer. What waited for a client that slept may be sent when
        // the time for an answer is over.
        if isDisturbed || refusedInRead.contains(channel) || now == forgottenAt { unanswered[channel] = nil }
        if isHeld { return "\(channel) is subscribed, which it was already" }
        if let last, now - last < .seconds(10) { return "\(channel) is subscribed twice" }
        return nil
    }

    mutating func unsubscribed(_ channel: String) {
        confirmed.remove(channel)
        held.remove(channel)
        asked.remove(channel)
        unanswered[channel] = nil
    }

    /// The client has slept.
    mutating func forgetUnanswered(_ now: NIODeadline) {
        unanswered = [:]
        forgottenAt = now
    }

    // MARK: The server

    mutating func confirmed(_ channel: String, _ now: NIODeadline) {
        // A confirmation that comes too late may find the client about to subscribe anew.
        let isInTime = unanswered.removeValue(forKey: channel).map { now - $0 < .seconds(10) } ?? false
        awaitedAnswers[channel] = max(0, awaitedAnswers[channel, default: 0] - 1)
        // What nobody has asked for is no answer.
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

    /// An error that names no channel but in its text, if at all.
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
