package import PusherProtocol
import RealtimePrimitives

/// The payload of `pusher:error`, in every form that servers use (protocol clause 6.2).
package struct ServerErrorMessage: Hashable, Sendable {
    package var code: Int?
    package var message: String

    /// Reads `{"code": 4301, "message": "…"}` in the data, or at the top level of the message. The code may be a string.
    /// The data may also be the text of the error.
    package init(_ envelope: Envelope) {
        let data = envelope.data.value
        let fields = data?.object != nil ? data : envelope.unknownKeysText.flatMap { JSONValue(parsing: $0) }
        code = fields?["code"].flatMap { $0.integer ?? $0.string.flatMap { Int($0) } }
        let text: String? =
            switch data {
            case .object?, .null?: nil
            case .string(let text)?: text
            default: envelope.data.text
            }
        let message = [fields?["message"]?.string, text].compactMap(\.self).first { !$0.isEmpty }
        self.message = message.map(Self.presentable) ?? "The server reported an error without a message."
    }

    /// Shortens a server's message to one line without control characters, for users and logs. Servers quote secrets in
    /// "Invalid signature: Expected … digest of SOCKET:CHANNEL:DATA, but got SIGNATURE". The result does not contain
    /// these secrets.
    package static func presentable(_ text: String) -> String {
        let text = text.prefix(fittingUTF8Bytes: 1_000).escapingControls.prefix(fittingUTF8Bytes: 1_000)
        // If the signed string contains a user's data, this data is JSON. The text before the JSON names the subject of
        // the error, so this text stays.
        let data = text.firstRange(of: "digest of ").flatMap { text[$0.upperBound...].firstIndex(of: "{") }
        let signature = text.firstRange(of: "but got ")?.upperBound
        guard let end = [data, signature].compactMap(\.self).min() else { return text }
        return text[..<end] + "(hidden)"
    }

    /// The code as a close code, or nil if the code is not a close code.
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

    /// Whether the server rejected a client event. Reverb also rejects other messages if there are too many.
    var isRejection: Bool { code == 4301 }

    /// Whether the message is only about a client event.
    var concernsClientEvent: Bool { message.lowercased().contains("client event") }

    /// Whether the message is only about the sign-in.
    var concernsSignIn: Bool {
        let text = message.lowercased()
        return ["signin", "sign-in", "sign in", "user_data"].contains { text.contains($0) }
    }

    /// Whether the message quotes the signed string of a sign-in. The string can contain any words, for example the
    /// name of a channel.
    var quotesUserData: Bool { message.contains("::user::") }

    /// Whether the error can be the refusal of a sign-in. A refusal has no code, or the code 4009. Reverb, which does not
    /// support the sign-in, sends 4200.
    var canRefuseSignIn: Bool { canRefuseSubscription || code == 4200 }

    /// Whether the error can be the refusal of a subscription. A refusal has no code, or the code 4009.
    var canRefuseSubscription: Bool { code == nil || isUnauthorized }

    /// Whether the error has Reverb's code for a refused subscription. Reverb uses this code for nothing else.
    var isUnauthorized: Bool { code == 4009 }

    /// Whether the error is Reverb's answer to an unknown message, including `pusher:signin`. Before soketi and pylon
    /// close a connection, they send code 4200 with another message.
    var isInvalidMessage: Bool { code == 4200 && message.hasPrefix("Invalid message") }

    /// Returns whether the error can be the refusal of the request, although the error does not name the request.
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

    /// Returns the longest matching channel name that is a word of the message. The method looks up each word, so the
    /// duration does not depend on the number of channels.
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
                // Full stops, commas and semicolons may be part of a name, or may end the sentence or clause. The
                // method therefore tries the word with and without them.
                guard let last = word.last, Self.isPunctuation(last) else { break }
                word = word.dropLast()
            }
        }
        return longest
    }

    /// Returns whether the message contains the name of a user's own channel. The name may contain any byte, because
    /// the user's id may contain any byte.
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
