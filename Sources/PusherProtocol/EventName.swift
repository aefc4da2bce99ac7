/// The event names of the protocol, and the rules that distinguish them from an app's names.
package enum EventName {
    // Server to client.
    package static let connectionEstablished = "pusher:connection_established"
    package static let error = "pusher:error"
    package static let subscriptionSucceededInternal = "pusher_internal:subscription_succeeded"
    package static let subscriptionCountInternal = "pusher_internal:subscription_count"
    package static let subscriptionErrorInternal = "pusher_internal:subscription_error"
    package static let cacheMiss = "pusher:cache_miss"
    package static let memberAddedInternal = "pusher_internal:member_added"
    package static let memberRemovedInternal = "pusher_internal:member_removed"
    package static let signInSuccess = "pusher:signin_success"
    package static let watchlistEvents = "pusher_internal:watchlist_events"
    // The names of the events inside `watchlist_events`.
    package static let online = "online"
    package static let offline = "offline"

    // Client to server.
    package static let subscribe = "pusher:subscribe"
    package static let unsubscribe = "pusher:unsubscribe"
    package static let signIn = "pusher:signin"

    // Both ways.
    package static let ping = "pusher:ping"
    package static let pong = "pusher:pong"

    // The public names of internal events, which the client delivers to listeners.
    package static let subscriptionSucceeded = "pusher:subscription_succeeded"
    package static let subscriptionError = "pusher:subscription_error"
    package static let subscriptionCount = "pusher:subscription_count"
    package static let memberAdded = "pusher:member_added"
    package static let memberRemoved = "pusher:member_removed"
    package static let signInError = "pusher:signin_error"

    /// The maximum length of an event name.
    package static let maximumLength = 200

    /// Returns true for `pusher:…`. The protocol defines the meaning of such events.
    package static func isPusherEvent(_ name: String) -> Bool { name.utf8.starts(with: "pusher:".utf8) }

    /// Returns true for `pusher_internal:…`. Such events never reach a listener.
    package static func isInternalEvent(_ name: String) -> Bool { name.utf8.starts(with: "pusher_internal:".utf8) }

    /// Returns true for `client-…`. Clients may send such events.
    package static func isClientEvent(_ name: String) -> Bool { name.utf8.starts(with: "client-".utf8) }

    /// Returns true for every name of the protocol.
    package static func isProtocolEvent(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: "p") && (isPusherEvent(name) || isInternalEvent(name))
    }
}
