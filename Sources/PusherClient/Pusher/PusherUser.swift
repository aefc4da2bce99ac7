public import Foundation

/// The user who is signed in: their own events, which a backend sends to all their connections, and the users they
/// watch.
///
/// It is the same object for a client's whole life, whoever is signed in. Callbacks and sequences stay over reconnects.
public final class PusherUser: Sendable {
    /// The users of the watchlist.
    public let watchlist: PusherWatchlist
    let engine: ClientEngine

    init(engine: ClientEngine) {
        self.engine = engine
        watchlist = PusherWatchlist(engine: engine)
    }

    /// Whether a user is signed in, on the connection that stands.
    public var isSignedIn: Bool { userId != nil }

    /// The id of the user who is signed in; nil where none is.
    public var userId: String? { engine.read { $0.machine.signIn.user?.id } }

    /// What the server knows of the user (`user_data`), as JSON text; nil where none is signed in.
    public var userData: String? { engine.read { $0.machine.signIn.user?.data } }

    /// What the server knows of the user (`user_data`), decoded.
    ///
    /// - Throws: The decoder's error. Where nobody is signed in, JSON's `null` is decoded.
    public func decodeUserData<T: Decodable>(as type: T.Type = T.self, decoder: JSONDecoder = JSONDecoder()) throws -> T
    {
        try decoder.decode(type, from: Data((userData ?? "null").utf8))
    }

    // MARK: Callbacks

    /// Calls back for each event of that name that is sent to the user, on the callback queue; and for
    /// `pusher:signin_success` and `pusher:signin_error`.
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(eventName, to: engine.userEvents, eventCallback)
    }

    /// Calls back for every event that is sent to the user, on the callback queue.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(nil, to: engine.userEvents, eventCallback)
    }

    /// Ends the calls of one callback. Called on the queue that runs it, no call begins after it has returned.
    public func unbind(eventName: String, callbackId: String) { engine.userEvents.unbind(eventName, id: callbackId) }

    /// Ends the calls of one callback that was bound to every event.
    public func unbind(callbackId: String) { engine.userEvents.unbind(nil, id: callbackId) }

    /// Ends the calls of all callbacks. Sequences go on.
    public func unbindAll() { engine.userEvents.unbindAll() }

    // MARK: Sequences

    /// Every event that is sent to the user from now on. It ends when the client is released.
    public var events: EventSequence<PusherEvent> { engine.userEvents.makeSequence(nil) }

    /// Every event of that name from now on.
    public func events(named eventName: String) -> EventSequence<PusherEvent> {
        engine.userEvents.makeSequence(eventName)
    }

    /// The decoded data of every event of that name from now on. Events whose data does not fit the type are left out,
    /// and reported by ``Pusher/errors``.
    public func events<Value: Decodable & Sendable>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) -> DecodedEventSequence<Value> {
        DecodedEventSequence(base: events(named: eventName), decoder: decoder, engine: engine)
    }
}

/// Who of the users that the signed-in user watches is online (protocol clause 9).
///
/// Whom the user watches, the backend says when it signs the user in. A user is online who is signed in on at least one
/// connection.
public final class PusherWatchlist: Sendable {
    private let engine: ClientEngine

    init(engine: ClientEngine) { self.engine = engine }

    /// The watched users who are online, as far as the server has said; none while nobody is signed in.
    public var online: Set<String> { engine.read { $0.machine.signIn.online } }

    /// Users who come online or go offline, from now on. After each sign-in the server tells where all of them stand.
    public var changes: EventSequence<WatchlistEvent> { engine.watchlistEvents.makeSequence() }

    /// Calls back for each event of that name, `online` or `offline`, on the callback queue.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventName: String, eventCallback: @escaping @Sendable (WatchlistEvent) -> Void) -> String {
        let id = engine.watchlistCallbacks.bind(eventName, limit: engine.limits.bindings, eventCallback)
        return id ?? engine.refuseBinding("the watchlist")
    }

    /// Ends the calls of one callback.
    public func unbind(callbackId: String) { engine.watchlistCallbacks.unbind(callbackId) }

    /// Ends the calls of all callbacks. Sequences go on.
    public func unbindAll() { engine.watchlistCallbacks.unbindAll() }
}
