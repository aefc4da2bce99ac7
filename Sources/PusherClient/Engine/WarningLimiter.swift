/// A limiter for warnings that each event can cause. The limiter admits the first warning of each kind, and then at
/// most one warning a minute.
///
/// Often, no code of the app handles the errors behind these warnings, so the log has to show them. But a flood would
/// hide all other messages. A single warning is not enough, because an operator may read only recent lines.
struct WarningLimiter {
    /// The kind of a warning. Each kind has a separate count.
    struct Kind: Hashable {
        let code: PusherClientError.Code
        let channelName: String?
        let eventName: String?

        /// Creates a kind with shortened names, because a server's names may be as long as its messages.
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
    /// The maximum number of kinds. The server and the app's users can use any number of names.
    static let maximumKinds = 100

    private var records: [Kind: Record] = [:]

    /// - Returns: The number of warnings of this kind that the caller has omitted since the last logged warning; nil if
    ///   the caller must omit this warning too.
    mutating func admit(_ kind: Kind, now: Instant) -> Int? {
        var kind = kind
        if records[kind] == nil, records.count >= Self.maximumKinds {
            records = records.filter { now - $0.value.loggedAt < Self.pause }
            // Kinds beyond the limit share one entry for each code.
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
