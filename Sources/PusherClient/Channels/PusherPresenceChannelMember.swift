public import Foundation

/// What PusherSwift calls the information about a user: the members of a JSON object.
public typealias PusherUserInfoObject = [String: AnyObject]

/// Somebody who is subscribed to a presence channel.
public final class PusherPresenceChannelMember: Sendable {
    /// Who it is. The server sees to it that it is there once, however many connections the user has.
    public let userId: String
    /// ``userInfo`` as JSON text.
    package let userInfoText: String?

    /// Makes a member: what a `userDataFetcher` gives.
    ///
    /// - Parameters:
    ///   - userId: Who it is.
    ///   - userInfo: What else the other members are to know: anything that `JSONSerialization` takes, or an
    ///     `Encodable` value. It is kept as JSON text, keys sorted. What is neither, or has a number in it that JSON
    ///     cannot hold, counts as nil.
    public init(userId: String, userInfo: Any? = nil) {
        self.userId = userId
        self.userInfoText = userInfo.flatMap { try? JSONText.make(of: $0) }
    }

    package init(userId: String, userInfoText: String?) {
        self.userId = userId
        self.userInfoText = userInfoText
    }

    /// What else is known of the member, as `JSONSerialization` reads it; nil where there is nothing.
    ///
    /// It is made from the JSON text at each call; ``decodeUserInfo(as:decoder:)`` makes a type of yours.
    public var userInfo: Any? {
        let value = userInfoText.flatMap(JSONText.value)
        return value is NSNull ? nil : value
    }

    /// Decodes ``userInfo``.
    ///
    /// - Throws: The decoder's error. Where there is nothing to decode, JSON's `null` is decoded, so that an optional
    ///   type gives nil.
    public func decodeUserInfo<T: Decodable>(as type: T.Type = T.self, decoder: JSONDecoder = JSONDecoder()) throws -> T
    {
        try decoder.decode(type, from: Data((userInfoText ?? "null").utf8))
    }
}

extension PusherPresenceChannelMember: Hashable {
    /// Members are equal where id and information are: a channel makes new objects each time it is asked.
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
