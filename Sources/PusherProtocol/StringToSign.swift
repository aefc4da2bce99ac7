/// The strings to sign. A signature is the HMAC-SHA256 of such a string, in lower-case hexadecimal digits (protocol
/// clauses 8 and 13).
package enum StringToSign {
    package static func channel(socketID: String, channel: String, channelData: String?) -> String {
        if let channelData { "\(socketID):\(channel):\(channelData)" } else { "\(socketID):\(channel)" }
    }

    package static func user(socketID: String, userData: String) -> String {
        "\(socketID)::user::\(userData)"
    }

    /// - Parameter parameters: The query without `auth_signature`, not percent-encoded.
    package static func restRequest(method: String, path: String, parameters: [(name: String, value: String)]) -> String
    {
        let query = parameters.map { (name: $0.name.lowercased(), value: $0.value) }
            .sorted { $0.name < $1.name }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
        return "\(method.uppercased())\n\(path)\n\(query)"
    }
}
