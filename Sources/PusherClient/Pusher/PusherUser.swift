public import Foundation
import PusherProtocol
import RealtimeJSON

/// The user who is signed in: their own events, which a backend sends to all their connections, and the users whom they
/// watch.
///
/// A client has only one user object, even if another user signs in. Callbacks and sequences survive reconnects.
/// ``PusherEventSource`` has the members for events. The events include `pusher:signin_success` and
/// `pusher:signin_error`.
public final class PusherUser: Sendable {
    /// The users of the watchlist.
    public let watchlist: PusherWatchlist
    let engine: ClientEngine

    init(engine: ClientEngine) {
        self.engine = engine
        watchlist = PusherWatchlist(engine: engine)
    }

    /// Whether a user is signed in on the current connection.
    public var isSignedIn: Bool { userId != nil }

    /// The id of the signed-in user; nil without a sign-in.
    public var userId: String? { engine.read { $0.machine.signIn.user?.id } }

    /// The backend's data about the user (`user_data`), as JSON text; nil without a sign-in.
    public var userData: String? { engine.read { $0.machine.signIn.user?.data } }

    /// Decodes the backend's data about the user (`user_data`).
    ///
    /// - Parameters:
    ///   - type: The type of the data.
    ///   - decoder: The decoder. Default: the client's own decoder with ``PusherClientOptions/decoding``.
    /// - Throws: The decoder's error. Without a sign-in, the method decodes JSON's `null`.
    public func decodeUserData<T: Decodable>(as type: T.Type = T.self, decoder: JSONDecoder? = nil) throws -> T {
        try engine.decoding.decode(type, from: userData ?? "null", with: decoder)
    }
}

/// The online state of the users whom the signed-in user watches (protocol clause 9).
///
/// The backend names the watched users when it authorizes the user. A user is online if they are signed in on at least
/// one connection. The events `online` and `offline` report changes. After each sign-in the server reports the state of
/// all watched users.
///
/// ```swift
/// for await event in pusher.user.watchlist.events(named: "online") { show(event.userIds) }
/// ```
public final class PusherWatchlist: Sendable {
    let engine: ClientEngine

    init(engine: ClientEngine) { self.engine = engine }

    /// The watched users who are online, as far as the server has reported. Empty without a sign-in.
    public var online: Set<String> { Set(engine.read { $0.machine.signIn.online }.map(\.text)) }
}
