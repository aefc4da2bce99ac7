import PusherEncryption
import PusherProtocol
import RealtimeJSON

/// The authorization endpoints `/pusher/auth` and `/pusher/user-auth` (protocol clause 8).
extension ServerBrain {
    package mutating func authorizationRequest(_ id: RequestID, _ call: AuthorizationCall) -> [ServerAction] {
        record(.authorizationRequested(call.request))
        let fault = nextAuthorizationFault(for: call)
        if let fault { record(.authorizationFailed(fault)) }
        switch fault {
        case .status(let status, let headers, let body):
            answer(id, call, RESTResponse(status: status, headers: headers, body: body))
        case .body(let body):
            answer(id, call, RESTResponse(status: 200, body: body))
        case .redirected(let status, let target):
            let headers: HTTPHeaderFields = ["Location": target]
            answer(id, call, RESTResponse(status: status, headers: headers, body: ""))
        case .delayed(let delay):
            _ = schedule(.authorization(id, call.request, response(to: call, nil)), after: max(.zero, delay))
        case .unanswered:
            perform(.ignore(id))
        case .dropped:
            perform(.drop(id))
        case nil, .wrongSignature, .wrongSharedSecret:
            answer(id, call, response(to: call, fault))
        }
        return takeActions()
    }

    private mutating func answer(_ id: RequestID, _ call: AuthorizationCall, _ response: RESTResponse) {
        answer(id, call.request, response)
    }

    mutating func answer(_ id: RequestID, _ request: PusherTestServer.Request, _ response: RESTResponse) {
        record(.requestAnswered(request, status: response.status))
        perform(.respond(id, response))
    }

    private func response(
        to call: AuthorizationCall,
        _ fault: PusherTestServer.AuthorizationFault?
    ) -> RESTResponse {
        switch call.content {
        case .invalid(let failure):
            return failure.response
        case .user(let decision, let socketID):
            return response(to: decision, call.form, socketID, fault)
        case .channels(let channels, let socketID, let isBatch):
            let responses = channels.map { ($0.name, response(to: $0, call.form, socketID, fault)) }
            guard isBatch else { return responses.first?.1 ?? RESTResponse(status: 400, body: "") }
            let members = responses.map { name, response in
                let data = response.status == 200 ? response.body : JSONWriter.string(response.body)
                return (name, JSONWriter.object([("status", String(response.status)), ("data", data)]))
            }
            return RESTResponse(status: 200, body: JSONWriter.object(members))
        }
    }

    private func response(
        to channel: AuthorizationCall.Channel,
        _ form: Form,
        _ socketID: String,
        _ fault: PusherTestServer.AuthorizationFault?
    ) -> RESTResponse {
        var channelData: String?
        switch channel.decision {
        case .refuse(let status, let body):
            return RESTResponse(status: status, body: body)
        case .allowWithData(let data):
            channelData = data
        case .allow(let userID, let userInfo):
            guard ChannelKind(ofChannelNamed: channel.name).base == .presence else { break }
            var members = [("user_id", JSONWriter.string(userID ?? form["user_id"] ?? socketID))]
            if let info = userInfo ?? form["user_info"] {
                guard let info = JSONValue.checkedText(info) else { return Self.notJSON("user_info") }
                members.append(("user_info", info))
            }
            channelData = JSONWriter.object(members)
        }
        var key = masterKey
        if fault == .wrongSharedSecret { key = Self.wrongMasterKey }
        guard key != nil || ChannelKind(ofChannelNamed: channel.name).base != .privateEncrypted else {
            return RESTResponse(status: 500, body: "the encryption master key is not the base64 of 32 bytes")
        }
        let answer = signingApplication(fault).authorization(
            socketID: socketID,
            channel: channel.name,
            channelData: channelData,
            masterKey: key
        )
        return RESTResponse(status: 200, body: answer.jsonText)
    }

    private func response(
        to decision: PusherTestServer.UserAuthentication,
        _ form: Form,
        _ socketID: String,
        _ fault: PusherTestServer.AuthorizationFault?
    ) -> RESTResponse {
        let userData: String
        switch decision {
        case .refuse(let status, let body):
            return RESTResponse(status: status, body: body)
        case .allowWithData(let data):
            userData = data
        case .allow(let userID, let userInfo, let watchlist):
            var members = [("id", JSONWriter.string(userID ?? form["user_id"] ?? socketID))]
            if let info = userInfo ?? form["user_info"] {
                guard let info = JSONValue.checkedText(info) else { return Self.notJSON("user_info") }
                members.append(("user_info", info))
            }
            if let watchlist = watchlist.map({ JSONWriter.array($0.map(JSONWriter.string)) }) ?? form["watchlist"] {
                guard let watchlist = JSONValue.checkedText(watchlist) else { return Self.notJSON("watchlist") }
                members.append(("watchlist", watchlist))
            }
            userData = JSONWriter.object(members)
        }
        let answer = signingApplication(fault).authentication(socketID: socketID, userData: userData)
        return RESTResponse(status: 200, body: answer.jsonText)
    }

    private static func notJSON(_ field: String) -> RESTResponse {
        RESTResponse(status: 400, body: "\(field) is not JSON")
    }

    private func signingApplication(_ fault: PusherTestServer.AuthorizationFault?) -> PusherTestServer.Application {
        var application = options.application
        if fault == .wrongSignature { application.secret += "-wrong" }
        return application
    }

    private static let wrongMasterKey = SecretKey([UInt8](repeating: 0xFF, count: SecretKey.size))
}
