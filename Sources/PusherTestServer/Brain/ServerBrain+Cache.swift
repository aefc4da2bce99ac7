import PusherProtocol

/// The last event of a cache channel.
struct CachedEvent: Hashable, Sendable {
    let name: String
    let data: String
    /// The time when the event expires, in the server's time.
    let expiry: Duration
}

/// Cache channels, whose new subscribers get the last published event (protocol clause 5).
extension ServerBrain {
    mutating func keep(_ event: PublishedEvent, on channel: String) {
        guard ChannelKind(ofChannelNamed: channel).isCache else { return }
        if cachedEvents.count >= Self.sweptCacheSize {
            let now = now
            cachedEvents = WireTable(cachedEvents.lazy.filter { $0.value.expiry > now }.map { ($0.key, $0.value) })
        }
        cachedEvents[channel] = CachedEvent(name: event.name, data: event.data, expiry: now + options.cacheLifetime)
    }

    private static let sweptCacheSize = 1_024

    func cachedEvent(of channel: String) -> CachedEvent? {
        guard let event = cachedEvents[channel], event.expiry > now else { return nil }
        return event
    }

    mutating func replayCache(of channel: String, to id: ConnectionID) {
        let kind = ChannelKind(ofChannelNamed: channel)
        guard kind.isCache, dialect.cache.replays(kind.base) else { return }
        if let event = cachedEvent(of: channel) {
            say(dialect.text(Envelope(event: event.name, channel: channel, data: .string(event.data))), to: id)
        } else {
            say(dialect.cacheMiss(channel: channel), to: id)
            noteCacheMiss(on: channel)
        }
    }

    package mutating func forgetCachedEvents(of channel: String?) -> [ServerAction] {
        if let channel { cachedEvents[channel] = nil } else { cachedEvents = WireTable() }
        return []
    }
}
