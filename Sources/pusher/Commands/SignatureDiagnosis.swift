import PusherEncryption
import PusherProtocol
import PusherServerAPI
import RealtimePrimitives

/// The reasons why an authorization is invalid.
struct SignatureDiagnosis {
    let application: PusherServerAPI.Application
    let socketID: String
    /// The channel's name; nil for a sign-in.
    let channel: String?
    let expected: PusherServerAPI.Authorization
    let given: GivenAuthorization

    /// Returns the string to sign.
    static func text(socketID: String, channel: String?, data: String?) -> String {
        if let channel {
            StringToSign.channel(socketID: socketID, channel: channel, channelData: data)
        } else {
            StringToSign.user(socketID: socketID, userData: data ?? "")
        }
    }

    /// One sentence for each problem. Empty if the authorization is valid.
    var problems: [String] {
        var problems: [String] = []
        if let problem = authProblem { problems.append(problem) }
        let data = expected.channelData ?? expected.userData
        if given.data != data {
            let name = channel == nil ? "user_data" : "channel_data"
            problems.append("\(name) is \(given.data?.quoted ?? "missing"), but must be \(data?.quoted ?? "left out").")
        }
        if given.sharedSecret != expected.sharedSecret {
            problems.append(
                expected.sharedSecret == nil
                    ? "There is a shared_secret, but the channel is not encrypted."
                    : given.sharedSecret == nil
                        ? "shared_secret is missing: encrypted channels need it."
                        : "shared_secret is wrong: it is for another channel, or was made with another key."
            )
        }
        return problems
    }

    private var authProblem: String? {
        if given.auth == expected.auth { return nil }
        let parts = given.auth.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return "auth does not have the form KEY:SIGNATURE." }
        let signature = String(parts[1])
        if parts[0] != application.key {
            let rest = signatureProblem(signature).map { " \($0)" } ?? " The signature is right."
            return "auth has the key \(String(parts[0]).quoted), but must have \(application.key.quoted).\(rest)"
        }
        return signatureProblem(signature)
    }

    private func signatureProblem(_ signature: String) -> String? {
        let signer = ApplicationSigner(key: application.key, secret: application.secret)
        let data = expected.channelData ?? expected.userData
        let right = Self.text(socketID: socketID, channel: channel, data: data)
        if isSignature(signature, of: right, by: signer) { return nil }
        if isSignature(signature.lowercased(), of: right, by: signer) {
            return "The signature has upper-case digits: use lower-case digits."
        }
        guard signature.utf8.count == 64, signature.utf8.allSatisfy({ UnicodeScalar($0).properties.isASCIIHexDigit })
        else {
            return """
                The signature has \(signature.utf8.count) characters: it must be the 64 hexadecimal digits of an HMAC-SHA256, \
                and not base64.
                """
        }
        for (text, reason) in otherTexts(data) where isSignature(signature, of: text, by: signer) { return reason }
        for (secret, reason) in otherSecrets {
            if isSignature(signature, of: right, by: ApplicationSigner(key: application.key, secret: secret)) {
                return reason
            }
        }
        return "The signature was made with another secret, or for a string other than \(right.quoted)."
    }

    private func isSignature(_ signature: String, of text: String, by signer: ApplicationSigner) -> Bool {
        HMACSHA256.isValid(signature, for: text, secret: signer.secret)
    }

    /// Returns the strings that backends sign by mistake, each with an explanation.
    private func otherTexts(_ data: String?) -> [(String, String)] {
        guard let channel else {
            return [
                (
                    StringToSign.channel(socketID: socketID, channel: "user", channelData: data),
                    "The signed string has one colon instead of two: sign SOCKET_ID::user::USER_DATA."
                ),
                (socketID, "Only the socket id was signed: sign SOCKET_ID::user::USER_DATA."),
            ]
        }
        var texts = [
            (
                "\(channel):\(socketID)",
                "Channel and socket id were signed in the wrong order: the socket id comes first."
            ),
            (channel, "Only the channel was signed: sign SOCKET_ID:CHANNEL."),
            (socketID, "Only the socket id was signed: sign SOCKET_ID:CHANNEL."),
        ]
        for prefix in ["private-encrypted-", "private-", "presence-"] where channel.hasPrefix(prefix) {
            texts.append(
                (
                    StringToSign.channel(
                        socketID: socketID,
                        channel: String(channel.dropFirst(prefix.count)),
                        channelData: data
                    ),
                    "The channel was signed without its prefix \(prefix)."
                )
            )
            break
        }
        guard let data else { return texts }
        texts.append(
            (
                StringToSign.channel(socketID: socketID, channel: channel, channelData: nil),
                "channel_data was not signed: sign SOCKET_ID:CHANNEL:CHANNEL_DATA."
            )
        )
        if let value = JSONValue(parsing: data) {
            let sorted = value.jsonText
            for form in [sorted, data.replacing("/", with: #"\/"#), data.replacing(#"\/"#, with: "/")]
            where form != data {
                texts.append(
                    (
                        StringToSign.channel(socketID: socketID, channel: channel, channelData: form),
                        "Another form of channel_data was signed (\(form.quoted)): sign the same bytes that are sent."
                    )
                )
            }
        }
        return texts
    }

    /// The secrets that backends use by mistake, each with an explanation.
    private var otherSecrets: [(String, String)] {
        [
            (application.secret + "\n", "The secret was used with a line break at its end."),
            (application.secret + " ", "The secret was used with a space at its end."),
            (application.key, "The key was used as the secret."),
            ("", "An empty secret was used."),
        ]
    }
}
