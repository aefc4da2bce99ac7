import Foundation
import PusherProtocol
import PusherTestServer

/// A record in words for `serve --verbose` and the console.
struct RecordDescription: Hashable, Sendable {
    /// The kinds that people can select in the console.
    enum Kind: String, Codable, CaseIterable, Sendable {
        /// A connection opens, fails or closes.
        case connection
        /// A message of the protocol itself, such as `pusher:ping`.
        case protocolMessage = "protocol"
        /// An event to or from a client.
        case event
        /// A subscription, a member or a sign-in.
        case channel
        /// A request to the REST API or an authorization endpoint, or a webhook.
        case backend
        /// An action in the console.
        case console
    }

    var kind: Kind
    /// A connection's socket id, `backend`, `webhook` or `console`.
    var who: String
    /// The verb, with `who` as its subject.
    var verb: String
    /// The object, for example the name of an event. May be empty.
    var subject = ""
    var channel: String?
    /// Further details in one line, without signatures.
    var detail = ""
    /// The whole message, including signatures.
    var payload: String?

    /// The description in one line, with escaped control characters and shortened data.
    var line: String {
        let name = [subject, channel.map { subject.isEmpty ? $0 : "on \($0)" } ?? ""].filter { !$0.isEmpty }
        let columns = [who.padded(to: 14), verb.padded(to: 12)] + name + (detail.isEmpty ? [] : [detail])
        return columns.joined(separator: " ").inOneLine(limit: Self.lineLimit)
    }

    private static let lineLimit = 300
}

extension RecordDescription {
    init(_ record: PusherTestServer.Record) {
        let who = record.socketID ?? "backend"
        func connection(_ verb: String, _ subject: String = "", _ detail: String = "") -> RecordDescription {
            RecordDescription(kind: .connection, who: who, verb: verb, subject: subject, detail: detail)
        }
        func channel(_ verb: String, _ channel: String?, _ subject: String = "", _ detail: String = "")
            -> RecordDescription
        {
            RecordDescription(kind: .channel, who: who, verb: verb, subject: subject, channel: channel, detail: detail)
        }
        switch record.event {
        case .connectionRequested(let request):
            self = connection("connects", request.clientName)
            payload = request.head
        case .connectionAccepted: self = connection("connected")
        case .connectionFailed, .transportRequestFailed: self = connection("failed", "", "because of a requested fault")
        case .sessionLost: self = connection("lost", "the session")
        case .connectionRefused(let code, let message):
            self = connection("was refused", "\(code)", Self.withoutSignature(message))
        case .connectionEnded: self = connection("ended")
        case .messageReceived(let text): self.init(message: text, who: who, verb: "sent")
        case .messageSent(let text): self.init(message: text, who: who, verb: "got")
        case .binaryReceived(let bytes):
            self = .init(kind: .protocolMessage, who: who, verb: "sent", subject: "\(bytes.count) binary bytes")
        case .pingReceived: self = .init(kind: .protocolMessage, who: who, verb: "sent", subject: "a WebSocket ping")
        case .pongReceived: self = .init(kind: .protocolMessage, who: who, verb: "sent", subject: "a WebSocket pong")
        case .closeReceived(let code, let reason): self = connection("sent", Self.close(code), reason)
        case .closeSent(let code, let reason):
            self = connection("got", Self.close(code), Self.withoutSignature(reason))
        case .eventPublished(let event, let name, let count):
            let reach = count == 0 ? "to nobody" : "to \(count) connection(s)"
            self = .init(kind: .event, who: who, verb: "delivered", subject: event, channel: name, detail: reach)
        case .subscribed(let name): self = channel("subscribed", name)
        case .unsubscribed(let name): self = channel("unsubscribed", name)
        case .subscriptionRefused(let name, let message):
            self = channel("was refused", name, "", Self.withoutSignature(message))
        case .memberJoined(let name, let userID): self = channel("joined", name, "as \(userID)")
        case .memberLeft(let name, let userID): self = channel("left", name, "as \(userID)")
        case .signedIn(let userID): self = channel("signed in", nil, "as \(userID)")
        case .signInRefused(let message):
            self = channel("was refused", nil, "sign-in", Self.withoutSignature(message))
        case .clientEventRelayed(let event, let name): self = channel("relayed", name, event)
        case .clientEventRejected(let event, let name): self = channel("was rejected", name, event)
        case .messageRejected:
            self = connection("sent", "a message", "that the server rejected: more messages than messageLimit allows")
        case .authorizationRequested(let request): self.init(authorization: request)
        case .authorizationFailed:
            self = .init(kind: .backend, who: who, verb: "failed", detail: "because of a requested fault")
        case .requestAnswered(let request, let status): self.init(request: request, status: status)
        case .webhookIssued(let body):
            self = .init(kind: .backend, who: "webhook", verb: "issued", detail: body, payload: body)
        case .webhookAnswered(let status):
            self = .init(kind: .backend, who: "webhook", verb: "answered", subject: "\(status)")
        case .webhookFailed(let reason): self = .init(kind: .backend, who: "webhook", verb: "failed", detail: reason)
        }
    }

    private static func close(_ code: Int?) -> String { code.map { "close \($0)" } ?? "close without a code" }

    /// Returns the server's description of an error, without the wrong signature at its end.
    private static func withoutSignature(_ text: String) -> String {
        let introductions = ["but got ", "auth data: "]
        guard let start = introductions.compactMap({ text.firstRange(of: $0)?.upperBound }).min() else { return text }
        return "\(text[..<start])(hidden)"
    }

    private init(message text: String, who: String, verb: String) {
        guard let message = try? Envelope(decoding: text) else {
            self.init(
                kind: .protocolMessage,
                who: who,
                verb: verb,
                subject: "a text message",
                detail: text,
                payload: text
            )
            return
        }
        // The data of these messages contains a signature.
        let isSigned = [EventName.subscribe, EventName.signIn, EventName.signInSuccess].contains(message.event)
        let data = isSigned ? "" : message.data.text ?? ""
        let isOurs = message.event.hasPrefix("pusher:") || message.event.hasPrefix("pusher_internal:")
        self.init(
            kind: isOurs ? .protocolMessage : .event,
            who: who,
            verb: verb,
            subject: message.event,
            channel: message.channel ?? (isOurs ? message.data.value?["channel"]?.string : nil),
            detail: isOurs ? Self.withoutSignature(data) : data,
            payload: text
        )
    }

    private init(authorization request: PusherTestServer.Request) {
        // The fields of a form have the same encoding as a query.
        let fields = PusherTestServer.Request(target: "/?" + request.bodyText).parameters
        self.init(
            kind: .backend,
            who: fields["socket_id"] ?? "backend",
            verb: "requested",
            subject: request.path,
            channel: fields["channel_name"],
            payload: request.bodyText
        )
    }

    init(request: PusherTestServer.Request, status: Int) {
        self.init(
            kind: .backend,
            who: "backend",
            verb: "answered",
            subject: "\(request.method) \(request.path)",
            detail: "\(status)",
            payload: request.body.isEmpty ? nil : request.bodyText
        )
        guard status == 200, request.method == "POST", let body = JSONValue(parsing: request.bodyText) else { return }
        let events = request.path.hasSuffix("/batch_events") ? body["batch"]?.array : [body]
        guard request.path.hasSuffix("events"), let events, let first = events.first else { return }
        let channels = events.flatMap { event in
            event["channels"]?.array?.compactMap(\.string) ?? [event["channel"]?.string].compactMap { $0 }
        }
        verb = "published"
        subject = events.count == 1 ? first["name"]?.string ?? "" : "\(events.count) events"
        channel = channels.joined(separator: ", ")
        detail = events.count == 1 ? first["data"]?.string ?? "" : ""
    }
}

extension PusherTestServer.Request {
    /// The client's name and version, for example `js 8.4.0`.
    var clientName: String {
        let parameters = self.parameters
        return [parameters["client"], parameters["version"]].compactMap { $0 }.joined(separator: " ")
    }

    fileprivate var head: String {
        let target = query.isEmpty ? path : "\(path)?\(query)"
        return (["\(method) \(target)"] + headers.map { "\($0.name): \($0.value)" }).joined(separator: "\n")
    }
}

extension String {
    /// Returns the string in one line. Escapes all characters that control a terminal.
    ///
    /// - Parameter limit: The limit for the number of characters. If the string is longer, the result contains its
    ///   beginning and its size.
    func inOneLine(limit: Int) -> String {
        var line = ""
        for scalar in unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: line += scalar.escaped(asASCII: true)
            default: line.unicodeScalars.append(scalar)
            }
        }
        return unicodeScalars.dropFirst(limit).isEmpty ? line : line + "… (\(utf8.count) bytes)"
    }

    fileprivate func padded(to length: Int) -> String {
        self + String(repeating: " ", count: max(0, length - count))
    }
}
