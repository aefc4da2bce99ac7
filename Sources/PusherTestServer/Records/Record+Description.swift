extension PusherTestServer.Record: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// One line with the index, the socket id and the event, without signatures. Long messages are cut. Of an HTTP
    /// request, the line contains only the method and the path.
    public var description: String {
        let line = "#\(index) \(socketID ?? "-") \(event)"
        return line.count <= Self.lengthLimit ? line : line.prefix(Self.lengthLimit) + "…"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no signatures.
    public var customMirror: Mirror { Mirror(self, children: []) }

    private static let lengthLimit = 240
}

extension PusherTestServer.Record.Event: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name of the case and its values, without signatures. Of an HTTP request, only the method and the path.
    public var description: String {
        switch self {
        case .connectionRequested(let request): "connectionRequested \(request)"
        case .connectionAccepted: "connectionAccepted"
        case .connectionFailed(let fault): "connectionFailed \(fault)"
        case .connectionRefused(let code, let message): "connectionRefused \(code) \(Self.withoutSignatures(message))"
        case .connectionEnded: "connectionEnded"
        case .messageReceived(let text): "messageReceived \(Self.withoutSignatures(text))"
        case .binaryReceived(let bytes): "binaryReceived \(bytes.count) bytes"
        case .pingReceived(let bytes): "pingReceived \(bytes.count) bytes"
        case .pongReceived(let bytes): "pongReceived \(bytes.count) bytes"
        case .closeReceived(let code, let reason): "closeReceived \(Self.close(code, reason))"
        case .transportRequestFailed(let fault): "transportRequestFailed \(fault)"
        case .sessionLost: "sessionLost"
        case .messageSent(let text): "messageSent \(Self.withoutSignatures(text))"
        case .closeSent(let code, let reason): "closeSent \(Self.close(code, reason))"
        case .eventPublished(let name, let channel, let count): "eventPublished \(name) on \(channel) to \(count)"
        case .subscribed(let channel): "subscribed \(channel)"
        case .unsubscribed(let channel): "unsubscribed \(channel)"
        case .subscriptionRefused(let channel, let message):
            "subscriptionRefused \(channel) \(Self.withoutSignatures(message))"
        case .memberJoined(let channel, let userID): "memberJoined \(userID) on \(channel)"
        case .memberLeft(let channel, let userID): "memberLeft \(userID) on \(channel)"
        case .signedIn(let userID): "signedIn \(userID)"
        case .signInRefused(let message): "signInRefused \(Self.withoutSignatures(message))"
        case .clientEventRelayed(let name, let channel): "clientEventRelayed \(name) on \(channel)"
        case .clientEventRejected(let name, let channel):
            "clientEventRejected \(name)\(channel.map { " on \($0)" } ?? "")"
        case .messageRejected: "messageRejected"
        case .authorizationRequested(let request): "authorizationRequested \(request)"
        case .authorizationFailed(let fault): "authorizationFailed \(fault)"
        case .requestAnswered(let request, let status): "requestAnswered \(request) \(status)"
        case .webhookIssued(let body): "webhookIssued \(body)"
        case .webhookAnswered(let status): "webhookAnswered \(status)"
        case .webhookFailed(let reason): "webhookFailed \(reason)"
        }
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no signatures.
    public var customMirror: Mirror { Mirror(self, children: []) }

    private static func close(_ code: Int?, _ reason: String) -> String {
        [code.map(String.init) ?? "without a code", withoutSignatures(reason)].filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    /// The number of hexadecimal digits of a signature (HMAC SHA-256).
    private static let signatureLength = 64

    /// Returns the text with `(hidden)` in place of each signature.
    private static func withoutSignatures(_ text: String) -> String {
        var result: [UInt8] = []
        var digits = 0
        func endDigits(_ result: inout [UInt8]) {
            if digits >= signatureLength {
                result.removeLast(digits)
                result += Array("(hidden)".utf8)
            }
            digits = 0
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                digits += 1
            default: endDigits(&result)
            }
            result.append(byte)
        }
        endDigits(&result)
        return String(decoding: result, as: UTF8.self)
    }
}
