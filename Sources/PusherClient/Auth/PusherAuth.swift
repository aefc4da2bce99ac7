/// The authorization of a subscription: the members of an endpoint's answer (protocol clause 8).
///
/// An authorization is valid for one socket id only. Printing an authorization shows no secrets.
public final class PusherAuth: Sendable {
    /// `key:signature`.
    public let auth: String
    /// The user on a presence channel, as the JSON text that was signed. The client sends this text unchanged.
    public let channelData: String?
    /// The key of an encrypted channel: 32 bytes in base64. The client never sends this key to the server.
    public let sharedSecret: String?

    /// Creates an authorization.
    public init(auth: String, channelData: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.channelData = channelData
        self.sharedSecret = sharedSecret
    }
}

extension PusherAuth: Hashable {
    /// Returns whether all members of both authorizations are equal.
    public static func == (left: PusherAuth, right: PusherAuth) -> Bool {
        left.auth == right.auth && left.channelData == right.channelData && left.sharedSecret == right.sharedSecret
    }

    /// Hashes the signature.
    public func hash(into hasher: inout Hasher) { hasher.combine(auth) }
}

extension PusherAuth: CustomStringConvertible, CustomReflectable {
    /// The names of the members, without signature and key.
    public var description: String {
        var members = ["auth"]
        if channelData != nil { members.append("channelData") }
        if sharedSecret != nil { members.append("sharedSecret") }
        return "PusherAuth(\(members.joined(separator: ", ")))"
    }

    /// An empty mirror, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
