import PusherProtocol
import RealtimePrimitives

/// A signer with an app's key and secret (protocol clauses 8, 13 and 14).
package struct ApplicationSigner: Sendable {
    package let key: String
    package let secret: String

    package init(key: String, secret: String) {
        self.key = key
        self.secret = secret
    }

    // MARK: Authorizations

    /// Returns the `auth` of a subscription.
    package func auth(socketID: String, channel: String, channelData: String?) -> String {
        auth(of: StringToSign.channel(socketID: socketID, channel: channel, channelData: channelData))
    }

    /// Returns the `auth` of a sign-in.
    package func auth(socketID: String, userData: String) -> String {
        auth(of: StringToSign.user(socketID: socketID, userData: userData))
    }

    /// Returns the key and the signature of any string, in the form of `auth`.
    package func auth(of text: String) -> String { "\(key):\(HMACSHA256.hexadecimal(text, secret: secret))" }

    // MARK: Webhooks

    package func signature(ofWebhook body: [UInt8]) -> String { HMACSHA256.hexadecimal(body, secret: secret) }

    // MARK: REST requests

    /// Returns a query with its signature, percent-encoded.
    ///
    /// - Parameters:
    ///   - path: The path exactly as the request contains it.
    ///   - parameters: The parameters of the request, not percent-encoded.
    ///   - timestamp: The time in seconds since 1970.
    package func query(
        method: String,
        path: String,
        parameters: [String: String],
        body: [UInt8],
        timestamp: Int
    ) -> String {
        var signed = parameters.map { (name: $0.key, value: $0.value) }
        signed.append(("auth_key", key))
        signed.append(("auth_timestamp", String(timestamp)))
        signed.append(("auth_version", "1.0"))
        if !body.isEmpty { signed.append(("body_md5", Self.digest(ofBody: body))) }
        signed.sort { $0.name < $1.name }
        let text = StringToSign.restRequest(method: method, path: path, parameters: signed)
        signed.append(("auth_signature", HMACSHA256.hexadecimal(text, secret: secret)))
        return signed.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
            .joined(separator: "&")
    }

    /// Returns the MD5 digest of a body, in lower-case hexadecimal digits. A signed query contains the digest.
    package static func digest(ofBody body: [UInt8]) -> String { Hexadecimal.digits(of: MD5.digest(of: body)) }
}
