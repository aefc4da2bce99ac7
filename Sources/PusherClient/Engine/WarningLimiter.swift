/// Chooses the warnings that the log gets, of those that can come as often as events do: the first of each kind, and then
/// at most one a minute.
struct WarningLimiter {
    /// Warnings that count as one and the same.
    struct Kind: Hashable {
        let code: PusherClientError.Code
        let channelName: String?
        let eventName: String?

        /// Cuts the names: a server's may be as long as its messages.
        init(code: PusherClientError.Code, channelName: String? = nil, eventName: String? = nil) {
            self.code = code
            self.channelName = channelName?.prefix(fittingUTF8Bytes: 200)
            self.eventName = eventName?.prefix(fittingUTF8Bytes: 200)
        }
    }

    private struct Record {
        var loggedAt: Instant
        var omitted = 0
    }

    static let pause = Duration.seconds(60)
    /// Names can come from the server or from the users of the app, in any number.
    static let maximumKinds = 100

    private var records: [Kind: Record] = [:]

    /// - Returns: How many of the kind were left out since the last one; nil if this one is to be left out too.
    mutating func admit(_ kind: Kind, now: Instant) -> Int? {
        var kind = kind
        if records[kind] == nil, records.count >= Self.maximumKinds {
            records = records.filter { now - $0.value.loggedAt < Self.pause }
            // Those beyond the limit share what is left: one place for each code.
            if records.count >= Self.maximumKinds { kind = Kind(code: kind.code) }
        }
        guard let record = records[kind] else {
            records[kind] = Record(loggedAt: now)
            return 0
        }
        guard now - record.loggedAt >= Self.pause else {
            records[kind]?.omitted += 1
            return nil
        }
        records[kind] = Record(loggedAt: now)
        return record.omitted
    }
}
