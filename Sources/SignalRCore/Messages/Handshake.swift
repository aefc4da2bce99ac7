import RealtimeJSON

/// The first message of each side. Every protocol encodes the handshake as JSON.
package enum Handshake {
    /// - Parameter version: The version of the protocol: 1, or 2 if the client can resume the connection.
    package static func request(_ hubProtocol: HubProtocol, version: Int) -> [UInt8] {
        Array(#"{"protocol":"\#(hubProtocol.name)","version":\#(version)}"#.utf8) + [HubFrameReader.separator]
    }

    package enum Answer: Hashable, Sendable {
        case accepted
        case refused(String)
        /// The message is not an answer to the handshake.
        case unexpected
    }

    /// Reads the server's answer.
    package static func answer(_ frame: ArraySlice<UInt8>) -> Answer {
        guard let members = try? JSONNode.read(frame, { try $0.requiredMembers() }) else { return .unexpected }
        var answer = Answer.accepted
        for (name, value) in members {
            switch name {
            case "error":
                if value.isNull { continue }
                guard let text = value.string else { return .unexpected }
                answer = .refused(text)
            case "type": return .unexpected
            default: continue
            }
        }
        return answer
    }

    package struct Request: Hashable, Sendable {
        package var protocolName: String
        package var version: UInt64
    }

    /// Reads the client's request, as a server does. Returns `nil` for any other message.
    package static func request(_ frame: ArraySlice<UInt8>) -> Request? {
        guard let members = try? JSONNode.read(frame, { try $0.requiredMembers() }) else { return nil }
        var name: String?
        var version: UInt64?
        for (key, value) in members {
            if key == "protocol" { name = value.string }
            if key == "version" { version = value.unsigned }
        }
        guard let name, let version else { return nil }
        return Request(protocolName: name, version: version)
    }

    /// Makes the server's answer. The error is `nil` if the server accepts the handshake.
    package static func response(error: String?) -> [UInt8] {
        let members = error.map { [("error", JSONWriter.string($0))] } ?? []
        return Array(JSONWriter.object(members).utf8) + [HubFrameReader.separator]
    }
}
