public import Foundation
import PusherProtocol
import RealtimeJSON

/// PusherSwift's name for the information about a user: the members of a JSON object.
public typealias PusherUserInfoObject = [String: AnyObject]

/// A user who is subscribed to a presence channel.
public final class PusherPresenceChannelMember: Sendable {
    /// The user's id. The server lists each user once, even if the user has several connections.
    public let userId: String
    /// ``userInfo`` as JSON text.
    package let userInfoText: String?
    private let decoding: JSONDecodingOptions

    /// Creates a member that a `userDataFetcher` can return.
    ///
    /// - Parameters:
    ///   - userId: The user's id.
    ///   - userInfo: Information for the other members: anything that `JSONSerialization` accepts, or an `Encodable`
    ///     value. The member keeps the value as JSON text with sorted keys. A value of any other type counts as nil. A
    ///     value with a number that JSON cannot represent also counts as nil.
    public init(userId: String, userInfo: Any? = nil) {
        self.userId = userId
        self.userInfoText = userInfo.flatMap { try? UntypedJSON.make(of: $0) }
        decoding = JSONDecodingOptions()
    }

    package init(userId: String, userInfoText: String?, decoding: JSONDecodingOptions = JSONDecodingOptions()) {
        self.userId = userId
        self.userInfoText = userInfoText
        self.decoding = decoding
    }

    /// The size of the texts, in bytes.
    var size: Int { userId.utf8.count + (userInfoText?.utf8.count ?? 0) }

    /// The information about the member, as `JSONSerialization` reads it; nil if there is none.
    ///
    /// Each call parses the JSON text again. ``decodeUserInfo(as:decoder:)`` decodes the text as your own type.
    public var userInfo: Any? {
        let value = userInfoText.flatMap(UntypedJSON.value)
        return value is NSNull ? nil : value
    }

    /// Decodes ``userInfo``.
    ///
    /// - Parameters:
    ///   - type: The type of the information.
    ///   - decoder: The decoder. Default: the client's own decoder with ``PusherClientOptions/decoding``. A decoder that
    ///     you pass gets no number that it might trap for: see ``PusherEvent/decode(as:decoder:)``.
    /// - Throws: The decoder's error. If there is no information, the method decodes JSON's `null`, so an optional type
    ///   gives nil.
    public func decodeUserInfo<T: Decodable>(as type: T.Type = T.self, decoder: JSONDecoder? = nil) throws -> T {
        try decoding.decode(type, from: userInfoText ?? "null", with: decoder)
    }
}

extension PusherPresenceChannelMember: Hashable {
    /// Returns whether the ids and the information of both members are equal. A channel makes new member objects at
    /// each call.
    public static func == (left: PusherPresenceChannelMember, right: PusherPresenceChannelMember) -> Bool {
        left.userId.hasSameBytes(as: right.userId) && left.userInfoText == right.userInfoText
    }

    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(userId) }
}

extension PusherPresenceChannelMember: CustomStringConvertible {
    /// The name of the type, and the user's id.
    public var description: String { "PusherPresenceChannelMember(\(userId))" }
}
