import RealtimeNetworking
import RealtimePrimitives

extension PusherServerAPI {
    /// An application, with its app id, key and secret from the Pusher dashboard.
    public struct Application: Hashable, Sendable {
        /// The id, part of the paths of requests: letters, digits, and `-._~`.
        public var id: String
        /// The key, which clients know.
        public var key: String
        /// The secret, which only backends know.
        public var secret: String
        /// The key from which the keys of encrypted channels are derived: the base64 of 32 bytes. The server never gets it.
        /// Default: `nil`, for applications without encrypted channels.
        public var encryptionMasterKey: String?

        /// Makes an application.
        public init(id: String, key: String, secret: String, encryptionMasterKey: String? = nil) {
            self.id = id
            self.key = key
            self.secret = secret
            self.encryptionMasterKey = encryptionMasterKey
        }

        func check() throws(PusherServerAPIError) {
            for (name, value) in [("app id", id), ("app key", key)] {
                guard !value.isEmpty, value.utf8.allSatisfy(\.isUnreserved) else {
                    throw PusherServerAPIError(
                        .invalidOption,
                        "Invalid \(name) \(value.quoted): it must have letters, digits and - . _ ~ only, and at least one."
                    )
                }
            }
            guard !secret.isEmpty else {
                throw PusherServerAPIError(
                    .invalidOption,
                    "Invalid app secret: it is empty. Copy it from your server's settings."
                )
            }
        }
    }
}

extension PusherServerAPI.Application: CustomStringConvertible, CustomReflectable {
    /// Id and key; nothing secret.
    public var description: String { "Application(id: \(id), key: \(key))" }
    /// Id and key; nothing secret.
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "key": key]) }
}
