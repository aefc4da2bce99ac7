public import Foundation
import PusherProtocol
import RealtimePrimitives

extension PusherServerAPI {
    /// The answer of a backend to a client that wants to subscribe or to sign in.
    public struct Authorization: Hashable, Sendable {
        /// The application's key, a colon, and the signature.
        public var auth: String
        /// The user on a presence channel, as JSON text. The signature covers this text.
        public var channelData: String?
        /// The key of an encrypted channel, in base64.
        public var sharedSecret: String?
        /// The user who signs in, as JSON text. The signature covers this text.
        public var userData: String?

        /// The body of the answer. Send this body with status 200 and the type `application/json`.
        public var jsonText: String {
            let members = [
                "auth": auth, "channel_data": channelData, "shared_secret": sharedSecret, "user_data": userData,
            ]
            return JSONValue.object(WireTable(members.compactMapValues { $0.map { .string($0) } })).jsonText
        }
    }

    /// A user on a presence channel.
    public struct Member: Hashable, Sendable {
        /// The user in the authorization, as JSON text with a `user_id`.
        public var channelData: String

        /// Creates a member from JSON text, which the library signs unchanged.
        public init(channelData: String) { self.channelData = channelData }

        /// Creates a member with only an id of 1 to 128 bytes.
        public init(id: String) { channelData = JSONValue.object(["user_id": .string(id)]).jsonText }

        /// Creates a member.
        ///
        /// - Parameters:
        ///   - id: The user's id, 1 to 128 bytes.
        ///   - info: The information about the user for the other members. The library encodes the information as JSON.
        ///     The hosted service accepts at most 1 kB.
        ///   - encoder: The encoder for the info. Default: the library's own encoder.
        /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/encodingFailed``.
        public init(
            id: String,
            info: some Encodable,
            encoder: JSONEncoder? = nil
        ) throws(PusherServerAPIError) {
            let text = try PusherServerAPI.text(of: info, with: encoder, for: "the member \(id.quoted)")
            channelData = #"{"user_id":\#(JSONValue.string(id).jsonText),"user_info":\#(text)}"#
        }
    }

    /// A user who signs in.
    public struct User: Hashable, Sendable {
        /// The user in the authorization, as JSON text with an `id`.
        public var userData: String

        /// Creates a user from JSON text, which the library signs unchanged.
        public init(userData: String) { self.userData = userData }

        /// Creates a user with only an id.
        ///
        /// - Parameters:
        ///   - id: The user's id, 1 to 128 bytes.
        ///   - watchlist: The ids of the users to watch. The client gets an event when one of these users comes online
        ///     or goes offline. The hosted service accepts at most 100 ids.
        public init(id: String, watchlist: [String] = []) { self.init(id: id, infoText: nil, watchlist: watchlist) }

        /// Creates a user.
        ///
        /// - Parameters:
        ///   - id: The user's id, 1 to 128 bytes.
        ///   - info: The information about the user for others. The library encodes the information as JSON.
        ///   - watchlist: The ids of the users to watch. The client gets an event when one of these users comes online
        ///     or goes offline. The hosted service accepts at most 100 ids.
        ///   - encoder: The encoder for the info. Default: the library's own encoder.
        /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/encodingFailed``.
        public init(
            id: String,
            info: some Encodable,
            watchlist: [String] = [],
            encoder: JSONEncoder? = nil
        ) throws(PusherServerAPIError) {
            let text = try PusherServerAPI.text(of: info, with: encoder, for: "the user \(id.quoted)")
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
    /// A description without the signature and the key.
    public var description: String { "Authorization(…)" }
    /// A mirror without the signature and the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
