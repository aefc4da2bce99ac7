import RealtimeJSON

/// The server's answer to a negotiation.
package enum NegotiationAnswer: Hashable, Sendable {
    case accepted(Negotiation)
    /// The client must negotiate at another URL, with this token instead of the app's token.
    case redirect(url: String, accessToken: String?)
    /// The server refuses the negotiation. The value is the server's reason.
    case refused(String)

    /// - Throws: ``HubProtocolViolation`` if the body is not an answer of ASP.NET Core SignalR.
    package init(_ body: [UInt8]) throws(HubProtocolViolation) {
        var text: [String: String] = [:]
        var negotiation = Negotiation()
        var version: UInt64 = 0
        var isOldServer = false
        for (name, value) in try JSONNode.read(body[...], { try $0.requiredMembers() }) {
            if value.isNull { continue }
            switch name {
            case "error", "url", "accessToken", "connectionId", "connectionToken":
                text[name] = try value.requiredString()
            case "negotiateVersion": version = value.unsigned ?? 0
            case "ProtocolVersion": isOldServer = true
            case "tokenLifetimeSeconds": negotiation.tokenLifetime = value.seconds
            case "useStatefulReconnect": negotiation.canBeResumed = value.bool ?? false
            case "availableTransports":
                for transport in try value.requiredElements() {
                    negotiation.transports.append(try OfferedTransport(transport))
                }
            default: continue
            }
        }
        if let reason = text["error"] {
            self = .refused(reason)
        } else if isOldServer {
            throw HubProtocolViolation("the server uses ASP.NET SignalR, which has another protocol")
        } else if let url = text["url"] {
            self = .redirect(url: url, accessToken: text["accessToken"])
        } else {
            guard let id = text["connectionId"] else { throw HubProtocolViolation("it has no 'connectionId'") }
            negotiation.connectionID = id
            negotiation.connectionToken = version > 0 ? text["connectionToken"] ?? id : id
            self = .accepted(negotiation)
        }
    }
}

/// A connection that the server has prepared.
package struct Negotiation: Hashable, Sendable {
    /// The connection's id, which the server's methods use to address this client.
    package var connectionID = ""
    /// The secret that identifies the connection.
    package var connectionToken = ""
    /// The transports in the server's order of preference.
    package var transports: [OfferedTransport] = []
    package var canBeResumed = false
    /// The time until the client's authentication expires; `nil` if it does not expire, or cannot be refreshed.
    package var tokenLifetime: Duration?

    package init() {}
}

/// A transport that the server offers.
package struct OfferedTransport: Hashable, Sendable {
    package var name: String
    /// The transport; `nil` if this version does not know it.
    package var transport: HttpTransportType?
    package var carriesText = false
    package var carriesBinary = false

    fileprivate init(_ object: JSONNode) throws(HubProtocolViolation) {
        name = ""
        for (member, value) in try object.requiredMembers() {
            switch member {
            case "transport": name = try value.requiredString()
            case "transferFormats":
                for format in try value.requiredElements() {
                    let format = try format.requiredString().lowercased()
                    if format == "text" { carriesText = true }
                    if format == "binary" { carriesBinary = true }
                }
            default: continue
            }
        }
        transport =
            switch name.lowercased() {
            case "websockets": .webSockets
            case "serversentevents": .serverSentEvents
            case "longpolling": .longPolling
            default: nil
            }
    }

    /// Returns the reason why the client cannot use the transport; `nil` if it can.
    package func obstacle(for hubProtocol: HubProtocol, permitted: HttpTransportType) -> String? {
        guard let transport else { return "this client does not know it" }
        if !permitted.contains(transport) { return "the options do not permit it" }
        if !(hubProtocol.isBinary ? carriesBinary : carriesText) {
            return "it does not carry \(hubProtocol.isBinary ? "binary" : "text") messages"
        }
        return nil
    }
}
