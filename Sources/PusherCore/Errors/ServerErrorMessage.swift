package import PusherProtocol
import RealtimePrimitives

/// The payload of `pusher:error`, in every form that servers use (protocol clause 6.2).
package struct ServerErrorMessage: Hashable, Sendable {
    package var code: Int?
    package var message: String

    package init(_ data: Envelope.Payload) {
        let value = data.value
        code = value?["code"]?.integer
        message = value?["message"]?.string.map(Self.presentable) ?? "The server reported an error without a message."
    }

    /// A server's text as it may be shown and logged: shortened, in one line without control characters, and without
    /// secrets that a server quotes in "Invalid signature: Expected … digest of SOCKET:CHANNEL:DATA, but got
    /// SIGNATURE".
    package static func presentable(_ text: String) -> String {
        let text = text.prefix(fittingUTF8Bytes: 1_000).escapingControls.prefix(fittingUTF8Bytes: 1_000)
        // The signed text may be about a user, and is JSON in that case. The names before it describe the subject of
        // the error.
        let data = text.firstRange(of: "digest of ").flatMap { text[$0.upperBound...].firstIndex(of: "{") }
        let signature = text.firstRange(of: "but got ")?.upperBound
        guard let end = [data, signature].compactMap(\.self).min() else { return text }
        return text[..<end] + "(hidden)"
    }

    /// The code as a close code; nil if it is not one.
    var closeCode: CloseCode? {
        guard let code, (1000...4999).contains(code) else { return nil }
        return CloseCode(rawValue: code)
    }

    var isExistingSubscription: Bool { message.hasPrefix("Existing subscription") }
    var isMissingSubscription: Bool { message.hasPrefix("No current subscription") }

    /// The error as the data of an event.
    var jsonText: String {
        JSONValue.object(["code": code.map { .integer($0) } ?? .null, "message": .string(message)]).jsonText
    }

    /// A client event was rejected, or (Reverb) any message because there were too many.
    var isRejection: Bool { code == 4301 }

    /// The message is only about a client event.
    var concernsClientEvent: Bool { message.lowercased().contains("client event") }

    /// The message is only about the sign-in.
    var concernsSignIn: Bool {
        let text = message.lowercased()
        return ["signin", "sign-in", "sign in", "user_data"].contains { text.contains($0) }
    }

    /// The message repeats the signed text of a sign-in, which can contain any words.
    var quotesUserData: Bool { message.contains("::user::") }

    /// Refusals of a sign-in have no code, 4009, or 4200 from servers that do not support the sign-in.
    var canRefuseSignIn: Bool { canRefuseSubscription || code == 4200 }

    /// Refusals of a subscription have no code, or 4009.
    var canRefuseSubscription: Bool { code == nil || isUnauthorized }

    /// Reverb sends this for every subscription that it refuses, and for nothing else.
    var isUnauthorized: Bool { code == 4009 }

    /// Reverb's answer to unknown messages, including `pusher:signin`. soketi and pylon use the same code before they
    /// close, with other words.
    var isInvalidMessage: Bool { code == 4200 && message.hasPrefix("Invalid message") }

    /// Whether the message can be the refusal of a request that it does not name.
    func canRefuse(_ request: UnansweredRequests.Request) -> Bool {
        switch request {
        case .signIn: canRefuseSubscription || isInvalidMessage
        case .channel(let name):
            canRefuseSubscription
                && !(concernsSignIn && name.utf8.starts(with: ChannelName.serverToUserPrefix.utf8))
        case .abandoned: true
        }
    }

    func clientError(_ kind: PusherClientError.Code = .serverError, channelName: String? = nil) -> PusherClientError {
        PusherClientError(
            kind,
            message,
            serverCode: code,
            channelName: channelName?.prefix(fittingUTF8Bytes: ChannelName.maximumLength)
        )
    }

    /// The longest matching channel name that is a word of the message. Each word is checked once, however many
    /// channels there are.
    func channelNamed(where isMeant: (String) -> Bool) -> String? {
        var longest: String?
        for word in message.utf8.split(whereSeparator: { !Self.isNameByte($0) }) {
            var word = word
            while !word.isEmpty {
                if word.count <= ChannelName.maximumLength, word.count > longest?.utf8.count ?? 0,
                    let name = String(word), isMeant(name)
                {
                    longest = name
                }
                // Full stops, commas and semicolons may belong to a name, or end the sentence or clause.
                guard let last = word.last, Self.isPunctuation(last) else { break }
                word = word.dropLast()
            }
        }
        return longest
    }

    /// Whether the message contains the name of a user's own channel. The name may contain any byte, because the user's
    /// id may.
    func hasName(_ name: String) -> Bool {
        guard let range = message.utf8.firstRange(of: name.escapingControls.utf8) else { return false }
        guard let next = message.utf8[range.upperBound...].first else { return true }
        return !Self.isNameByte(next) || Self.isPunctuation(next)
    }

    private static func isPunctuation(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";")
    }

    private static func isNameByte(_ byte: UInt8) -> Bool { ChannelName.isAllowed(byte) }
}
