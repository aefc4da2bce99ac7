import PusherEncryption
import PusherProtocol

/// The reason for refusing a subscription. The dialect determines which parts of the reason the client gets.
struct SubscriptionRefusal: Error, Hashable, Sendable {
    var message: String
    /// The `type` of the refusal in soketi's messages; nil omits the field.
    var type: String? = "AuthError"
    var status = 401
}

/// Checks of authorizations for subscriptions and sign-ins (protocol clauses 6.2 and 8).
extension ServerBrain {
    /// - Parameter data: The `data` of the subscription.
    func checkAuthorization(
        of id: ConnectionID,
        for channel: String,
        _ data: JSONValue?
    ) throws(SubscriptionRefusal) {
        guard let auth = data?["auth"]?.string, !auth.isEmpty else {
            throw SubscriptionRefusal(message: "Auth info required to subscribe to \(channel)")
        }
        let text = StringToSign.channel(
            socketID: socketID(of: id),
            channel: channel,
            channelData: data?["channel_data"]?.string
        )
        if let message = fault(in: auth, for: text) { throw SubscriptionRefusal(message: message) }
    }

    /// Returns Pusher's description of the error in an authorization, or nil if the authorization is valid.
    func fault(in auth: String, for text: String) -> String? {
        if options.acceptsAnySignature { return nil }
        let parts = auth.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == options.application.key else {
            return "Invalid key in subscription auth data: '\(Self.shortened(parts[0]))'"
        }
        let signature = String(parts[1])
        guard !HMACSHA256.isValid(signature, for: text, secret: options.application.secret) else { return nil }
        return "Invalid signature: Expected HMAC SHA256 hex digest of \(Self.shortened(text)), "
            + "but got \(Self.shortened(signature))"
    }

    /// Shortens a client's string for an answer, because the string may have any length.
    static func shortened(_ text: some StringProtocol) -> String {
        let limit = 512
        guard text.utf8.count > limit else { return String(text) }
        return String(decoding: text.utf8.prefix(limit), as: UTF8.self) + "…"
    }

    mutating func setMasterKey(_ key: SecretKey?) -> [ServerAction] {
        masterKey = key
        return []
    }
}
