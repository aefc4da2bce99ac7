public import Foundation
import PusherProtocol
import RealtimePrimitives

extension PusherServerAPI {
    /// The answer of a backend to a client that wants to subscribe or to sign in.
    public struct Authorization: Hashable, Sendable {
        /// The application's key, a colon, and the signature.
        public var auth: String
        /// The user on a presence channel: JSON text, which is part of the signed text.
        public var channelData: String?
        /// The key of an encrypted channel, in base64.
        public var sharedSecret: String?
        /// The user who signs in: JSON text, which is part of the signed text.
        public var userData: String?

        /// The body of the answer: send it with status 200 and the type `application/json`.
        public var jsonText: String {
            let members = [
                "auth": auth, "channel_data": channelData, "shared_secret": sharedSecret, "user_data": userData,
            ]
            return JSONValue.object(members.compactMapValues { $0.map { .string($0) } }).jsonText
        }
    }

    /// A user on a presence channel.
    public struct Member: Hashable, Sendable {
        /// The user in the authorization: JSON text with a `user_id`.
        public var channelData: String

        /// Makes a member from such a text, which is signed unchanged.
        public init(channelData: String) { self.channelData = channelData }

        /// Makes a member with an id only: 1 to 128 bytes.
        public init(id: String) { channelData = JSONValue.object(["user_id": .string(id)]).jsonText }

        /// Makes a member.
        ///
        /// - Parameters:
        ///   - id: The user's id, 1 to 128 bytes.
        ///   - info: The information about the user for the other members, written as JSON. The hosted service accepts
        ///     1 kB.
        ///   - encoder: Writes it.
        /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/encodingFailed``.
        public init(
            id: String,
            info: some Encodable,
            encoder: JSONEncoder = JSONEncoder()
        ) throws(PusherServerAPIError) {
            let text = try JSONEncoder.text(of: info, with: encoder, for: "the member \(id.quoted)")
            channelData = #"{"user_id":\#(JSONValue.string(id).jsonText),"user_info":\#(text)}"#
        }
    }

    /// A user who signs in.
    public struct User: Hashable, Sendable {
        /// The user in the authorization: JSON text with an `id`.
        public var userData: String

        /// Makes a user from such a text, which is signed unchanged.
        public init(userData: String) { self.userData = userData }

        /// Makes a user with an id only.
        ///
        /// - Parameters:
        ///   - id: The user's id, 1 to 128 bytes.
        ///   - watchlist: The ids of the users to watch. The client learns when they come online or go offline. The
        ///     hosted service accepts 100.
        public init(id: String, watchlist: [String] = []) { self.init(id: id, infoText: nil, watchlist: watchlist) }

        /// Makes a user.
        ///
        /// - Parameters:
        ///   - id: The user's id, 1 to 128 bytes.
        ///   - info: The information about the user for others, written as JSON.
        ///   - watchlist: The ids of the users to watch. The client learns when they come online or go offline. The
        ///     hosted service accepts 100.
        ///   - encoder: The encoder for the info.
        /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/encodingFailed``.
        public init(
            id: String,
            info: some Encodable,
            watchlist: [String] = [],
            encoder: JSONEncoder = JSONEncoder()
        ) throws(PusherServerAPIError) {
            let text = try JSONEncoder.text(of: info, with: encoder, for: "the user \(id.quoted)")
            self.init(id: id, infoText: text, watchlist: watchlist)
        }

        private init(id: String, infoText: String?, watchlist: [String]) {
            var text = #"{"id":\#(JSONValue.string(id).jsonText)"#
            if let infoText { text += #","user_info":\#(infoText)"# }
            if !watchlist.isEmpty {
                text += #","watchlist":\#(JSONValue.array(watchlist.map { .string($0) }).jsonText)"#
            }
            userData = text + "}"
        }
    }
}

extension PusherServerAPI.Authorization: CustomStringConvertible, CustomReflectable {
    /// Leaves signature and key out.
    public var description: String { "Authorization(…)" }
    /// Leaves signature and key out.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
