import PusherProtocol
import RealtimeJSON

@testable import PusherTestServer

/// Clients' messages with valid authorizations.
extension BrainTranscript {
    mutating func authorize(_ number: Int, _ channel: String, _ channelData: String? = nil) -> [ServerAction] {
        let signed = brain.options.application.authorization(
            socketID: "7.\(number)",
            channel: channel,
            channelData: channelData,
            masterKey: nil
        )
        return text(
            number,
            Envelope.subscribe(channel: channel, auth: signed.auth, channelData: channelData).jsonText
        )
    }

    mutating func join(_ number: Int, _ channel: String, _ userID: String, info: String? = nil) -> [ServerAction] {
        authorize(number, channel, #"{"user_id":\#(userID)"# + (info.map { #","user_info":\#($0)"# } ?? "") + "}")
    }

    mutating func signIn(_ number: Int, _ userData: String) -> [ServerAction] {
        let signed = brain.options.application.authentication(socketID: "7.\(number)", userData: userData)
        return signIn(number, auth: signed.auth, userData)
    }

    mutating func signIn(_ number: Int, auth: String, _ userData: String) -> [ServerAction] {
        let data = JSONWriter.object([("auth", JSONWriter.string(auth)), ("user_data", JSONWriter.string(userData))])
        return text(number, Envelope(event: "pusher:signin", data: .json(data)).jsonText)
    }

    mutating func clientEvent(_ number: Int, _ name: String, _ data: String, _ channel: String) -> [ServerAction] {
        text(number, #"{"event":"\#(name)","data":\#(data),"channel":"\#(channel)"}"#)
    }

    /// Passes a request to an authorization endpoint to the brain, as the engine does.
    mutating func post(
        _ path: String,
        _ body: String,
        method: String = "POST",
        headers: HTTPHeaderFields = [:]
    ) -> [ServerAction] {
        let request = Request(method: method, target: path, headers: headers, body: Array(body.utf8))
        guard let call = AuthorizationCall(request, options: brain.options) else { return [] }
        return brain.authorizationRequest(RequestID(rawValue: 1), call).withoutRecords
    }

    static func connected(_ count: Int = 1, _ change: (inout Options) -> Void = { _ in }) -> BrainTranscript {
        var server = BrainTranscript(change)
        for number in 1...count { _ = server.connect(number) }
        return server
    }
}

extension [ServerAction] {
    /// Returns the text messages to a connection.
    func texts(to number: Int) -> [String] {
        compactMap { action in
            guard case .send(id(number), .text(let text)) = action else { return nil }
            return text
        }
    }

    var response: RESTResponse? {
        for case .respond(_, let response) in self { return response }
        return nil
    }
}

/// Returns a message whose data is a string or a JSON value.
func message(_ event: String, _ data: String?, _ channel: String? = nil, isString: Bool = true) -> String {
    let payload = data.map { isString ? Envelope.Payload.string($0) : .json($0) } ?? .none
    return Envelope(event: event, channel: channel, data: payload).jsonText
}
