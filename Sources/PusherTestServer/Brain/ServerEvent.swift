/// Names of the server's events that only some channels and connections get.
enum ServerEvent {
    static let memberAdded = "pusher_internal:member_added"
    static let memberRemoved = "pusher_internal:member_removed"
    static let signIn = "pusher:signin"
    static let signInSuccess = "pusher:signin_success"
    static let watchlistEvents = "pusher_internal:watchlist_events"
}
