/// The first message of each side. It is JSON in every protocol.
package enum Handshake {
    /// - Parameter version: 1, or 2 if the server allows resuming the connection.
    package static func request(_ hubProtocol: HubProtocol, version: Int) -> [UInt8] {
        Array(#"{"protocol":"\#(hubProtocol.name)","version":\#(version)}"#.utf8) + [HubFrameReader.separator]
    }

    package enum Answer: Hashable, Sendable {
        case accepted
        case refused(String)
        /// It is another message.
        case unexpected
    }

    /// Reads the server's answer.
    package static func answer(_ frame: ArraySlice<UInt8>) -> Answer {
        guard let members = try? JSONScanner.members(of: frame) else { return .unexpected }
        var answer = Answer.accepted
        for (name, value) in members {
            switch name {
            case "error":
                if JSONScanner.isNull(value) { continue }
                guard let text = try? JSONScanner.string(value) else { return .unexpected }
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

    /// Reads the client's request, as a server does; `nil` if it is another message.
    package static func request(_ frame: ArraySlice<UInt8>) -> Request? {
        guard let members = try? JSONScanner.members(of: frame) else { return nil }
        var name: String?
        var version: UInt64?
        for (key, value) in members {
            if key == "protocol" { name = try? JSONScanner.string(value) }
            if key == "version" { version = JSONScanner.unsigned(value) }
        }
        guard let name, let version else { return nil }
        return Request(protocolName: name, version: version)
    }

    /// The server's answer; `nil` for no error.
    package static func response(error: String?) -> [UInt8] {
        var bytes = Array("{".utf8)
        if let error {
            bytes += Array(#""error":"#.utf8)
            JSONText.append(error, to: &bytes)
        }
        return bytes + Array("}".utf8) + [HubFrameReader.separator]
    }
}
