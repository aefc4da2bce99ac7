import PusherProtocol
import RealtimeJSON

/// The events that the server reports in webhooks (protocol clause 14).
///
/// The server waits before it reports that a channel has lost its last subscriber, or that a user has left. If the
/// channel gets a subscriber or the user returns during the wait, the server reports nothing.
extension ServerBrain {
    /// The channel or the member that a delayed webhook is about.
    enum Absence: Hashable, Sendable {
        case channel(String)
        case member(String, channel: String)
    }

    private var hasWebhooks: Bool { options.webhookURL != nil }

    private mutating func note(_ members: [(String, String)]) {
        if hasWebhooks { webhookEvents.append(JSONWriter.object(members)) }
    }

    private func isTold(_ channel: String) -> Bool { hasWebhooks && !channel.utf8.starts(with: "#".utf8) }

    mutating func noteOccupied(_ channel: String) {
        guard isTold(channel), !hasReturned(.channel(channel)) else { return }
        note([("name", #""channel_occupied""#), ("channel", JSONWriter.string(channel))])
    }

    mutating func noteVacated(_ channel: String) {
        if isTold(channel) { putOff(.channel(channel)) }
    }

    mutating func noteMemberAdded(_ userID: String, on channel: String) {
        guard isTold(channel), !hasReturned(.member(userID, channel: channel)) else { return }
        noteMember("member_added", userID, channel)
    }

    mutating func noteMemberRemoved(_ userID: String, from channel: String) {
        if isTold(channel) { putOff(.member(userID, channel: channel)) }
    }

    private mutating func noteMember(_ name: String, _ userID: String, _ channel: String) {
        note([
            ("name", JSONWriter.string(name)), ("channel", JSONWriter.string(channel)),
            ("user_id", JSONWriter.string(userID)),
        ])
    }

    mutating func noteCacheMiss(on channel: String) {
        note([("name", #""cache_miss""#), ("channel", JSONWriter.string(channel))])
    }

    mutating func noteSubscriptionCount(_ count: Int, of channel: String) {
        guard isTold(channel) else { return }
        note([
            ("name", #""subscription_count""#), ("channel", JSONWriter.string(channel)),
            ("subscription_count", String(count)),
        ])
    }

    mutating func noteClientEvent(_ message: Envelope, from socketID: String, _ userID: String?, on channel: String) {
        var members = [
            ("name", #""client_event""#), ("channel", JSONWriter.string(channel)),
            ("event", JSONWriter.string(message.event)), ("data", JSONWriter.string(message.data.text ?? "")),
            ("socket_id", JSONWriter.string(socketID)),
        ]
        if let userID { members.append(("user_id", JSONWriter.string(userID))) }
        note(members)
    }

    // MARK: Absences

    private mutating func putOff(_ absence: Absence) {
        cancel(absences[absence])
        let timer = schedule(.absence(absence), after: max(.zero, options.webhookDelay))
        absences[absence] = timer
    }

    private mutating func hasReturned(_ absence: Absence) -> Bool {
        guard let timer = absences.removeValue(forKey: absence) else { return false }
        cancel(timer)
        return true
    }

    mutating func absenceTimerFired(_ absence: Absence) {
        absences[absence] = nil
        switch absence {
        case .channel(let channel):
            note([("name", #""channel_vacated""#), ("channel", JSONWriter.string(channel))])
        case .member(let userID, let channel):
            noteMember("member_removed", userID, channel)
        }
    }

    /// Sends the events of the current input in one request.
    mutating func flushWebhooks() {
        guard !webhookEvents.isEmpty else { return }
        let body = JSONWriter.object([
            ("time_ms", String(unixMilliseconds)), ("events", JSONWriter.array(webhookEvents)),
        ])
        webhookEvents = []
        record(.webhookIssued(body: body))
        perform(.webhook(body))
    }
}
