import RealtimeNetworking
import RealtimePrimitives

extension PusherServerAPI {
    /// An application, with its app id, key and secret from the Pusher dashboard.
    public struct Application: Hashable, Sendable {
        /// The id, which is part of the paths of requests. The id consists of letters, digits, and `-._~`.
        public var id: String
        /// The key, which clients know.
        public var key: String
        /// The secret, which only backends know.
        public var secret: String
        /// The key from which the library derives the keys of encrypted channels: the base64 of 32 bytes. The server
        /// never gets this key. Default: `nil`, for applications without encrypted channels.
        public var encryptionMasterKey: String?

        /// Creates an application.
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
                        "Invalid \(name) \(value.quoted): use one or more letters, digits and - . _ ~."
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
    /// The id and the key, without secrets.
    public var description: String { "Application(id: \(id), key: \(key))" }
    /// The id and the key, without secrets.
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "key": key]) }
}
