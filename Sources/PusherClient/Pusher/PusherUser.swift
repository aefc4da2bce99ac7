public import Foundation

/// The user who is signed in: their own events, which a backend sends to all their connections, and the users they
/// watch.
///
/// It is the same object for a client's whole life, whoever is signed in. Callbacks and sequences stay over reconnects.
/// See ``PusherEventSource`` for them; `pusher:signin_success` and `pusher:signin_error` are among the events.
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
}

/// Who of the users that the signed-in user watches is online (protocol clause 9).
///
/// Whom the user watches, the backend says when it signs the user in. A user is online who is signed in on at least one
/// connection. The events `online` and `offline` say who comes and goes; after each sign-in the server tells where all of
/// them stand.
///
/// ```swift
/// for await event in pusher.user.watchlist.events(named: "online") { show(event.userIds) }
/// ```
public final class PusherWatchlist: Sendable {
    let engine: ClientEngine

    init(engine: ClientEngine) { self.engine = engine }

    /// The watched users who are online, as far as the server has said; none while nobody is signed in.
    public var online: Set<String> { engine.read { $0.machine.signIn.online } }
}
