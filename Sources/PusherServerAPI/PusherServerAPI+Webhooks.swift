import Foundation
import PusherEncryption
import PusherProtocol
import RealtimeJSON
import RealtimePrimitives

extension PusherServerAPI {
    /// Checks the signature and the age of a webhook, and parses the webhook.
    ///
    /// The signature of a webhook stays valid for ever. So the method rejects a webhook whose time differs from this
    /// machine's clock by more than ``Options/webhookMaximumAge``, because somebody may have recorded it and sent it
    /// again. Within that time, the same webhook can arrive twice.
    ///
    /// - Parameters:
    ///   - body: The body of the request, byte for byte as received.
    ///   - key: The header field `X-Pusher-Key`.
    ///   - signature: The header field `X-Pusher-Signature`.
    /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/invalidWebhook`` if the request does not
    ///   come from the server of this application, if it is too old, or if the body is invalid. Answer such a request with status 401.
    public func webhook(
        body: some Sequence<UInt8>,
        key: String?,
        signature: String?
    ) throws(PusherServerAPIError) -> Webhook {
        let body = Array(body)
        guard let key else { throw .invalidWebhook("the header field X-Pusher-Key is missing") }
        guard key == application.key else { throw .invalidWebhook("it is for the key \(key.quoted)") }
        guard let signature else { throw .invalidWebhook("the header field X-Pusher-Signature is missing") }
        guard HMACSHA256.isValid(signature, for: body, secret: application.secret) else {
            throw .invalidWebhook("the signature does not match the body")
        }
        guard let webhook = String(validating: body, as: UTF8.self).flatMap({ JSONValue.read($0, Webhook.init) }) else {
            throw .invalidWebhook("the body is not a JSON object with time_ms and events")
        }
        try checkAge(ofWebhookAt: webhook.time.timeIntervalSince1970)
        return webhook
    }

    private func checkAge(ofWebhookAt time: Double) throws(PusherServerAPIError) {
        guard let maximum = options.webhookMaximumAge else { return }
        let age = Double(unixTime()) - time
        // The clock gives whole seconds, and the times of webhooks have fractions.
        guard abs(age) >= maximum / .seconds(1) + 1 else { return }
        let distance = "\(Int(min(abs(age), 1e15))) s \(age < 0 ? "in the future" : "old")"
        throw .invalidWebhook(
            "it is \(distance), and webhookMaximumAge is \(maximum.inWords). Somebody may have sent it again, or a clock "
                + "is wrong"
        )
    }
}

extension PusherServerAPI.Webhook {
    fileprivate init?(_ body: JSONNode) throws {
        guard let time = try body["time_ms"].flatMap({ try JSONValue($0).double }), let events = body["events"],
            events.kind == .array
        else { return nil }
        self.init(
            time: Date(timeIntervalSince1970: time / 1_000),
            events: try events.elements.compactMap { try PusherServerAPI.WebhookEvent($0) }
        )
    }
}

extension PusherServerAPIError {
    fileprivate static func invalidWebhook(_ reason: String) -> Self {
        PusherServerAPIError(
            .invalidWebhook,
            "Invalid webhook: \(reason). Refuse the request, and check key and secret if your server sent it."
        )
    }
}
