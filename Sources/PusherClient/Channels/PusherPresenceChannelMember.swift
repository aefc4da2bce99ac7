public import Foundation

/// PusherSwift's name for the information about a user: the members of a JSON object.
public typealias PusherUserInfoObject = [String: AnyObject]

/// A user who is subscribed to a presence channel.
public final class PusherPresenceChannelMember: Sendable {
    /// Who it is. The server lists each user once, however many connections the user has.
    public let userId: String
    /// ``userInfo`` as JSON text.
    package let userInfoText: String?

    /// Makes a member, for a `userDataFetcher` to return.
    ///
    /// - Parameters:
    ///   - userId: The user's id.
    ///   - userInfo: What the other members may know: anything that `JSONSerialization` accepts, or an `Encodable`
    ///     value. It is kept as JSON text, keys sorted. A value that is neither, or has a number that JSON cannot
    ///     represent, counts as nil.
    public init(userId: String, userInfo: Any? = nil) {
        self.userId = userId
        self.userInfoText = userInfo.flatMap { try? JSONText.make(of: $0) }
    }

    package init(userId: String, userInfoText: String?) {
        self.userId = userId
        self.userInfoText = userInfoText
    }

    /// The information about the member, as `JSONSerialization` reads it; nil if there is none.
    ///
    /// It is parsed at each call. ``decodeUserInfo(as:decoder:)`` decodes it as your own type.
    public var userInfo: Any? {
        let value = userInfoText.flatMap(JSONText.value)
        return value is NSNull ? nil : value
    }

    /// Decodes ``userInfo``.
    ///
    /// - Throws: The decoder's error. If there is no information, JSON's `null` is decoded, so an optional type gives
    ///   nil.
    public func decodeUserInfo<T: Decodable>(as type: T.Type = T.self, decoder: JSONDecoder = JSONDecoder()) throws -> T
    {
        try decoder.decode(type, from: Data((userInfoText ?? "null").utf8))
    }
}

extension PusherPresenceChannelMember: Hashable {
    /// Members are equal if id and information are equal. A channel makes new objects at each call.
    public static func == (left: PusherPresenceChannelMember, right: PusherPresenceChannelMember) -> Bool {
        left.userId == right.userId && left.userInfoText == right.userInfoText
    }

    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(userId) }
}

extension PusherPresenceChannelMember: CustomStringConvertible {
    /// The user's id.
    public var description: String { "PusherPresenceChannelMember(\(userId))" }
}
