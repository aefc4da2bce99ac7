/// The strings whose HMAC-SHA256, in lower-case hexadecimal digits, is the signature (protocol clauses 8 and 13).
package enum StringToSign {
    package static func channel(socketID: String, channel: String, channelData: String?) -> String {
        if let channelData { "\(socketID):\(channel):\(channelData)" } else { "\(socketID):\(channel)" }
    }

    package static func user(socketID: String, userData: String) -> String {
        "\(socketID)::user::\(userData)"
    }

    /// - Parameter parameters: the query without `auth_signature`, not percent-encoded.
    package static func restRequest(method: String, path: String, parameters: [(name: String, value: String)]) -> String
    {
        let query = parameters.map { (name: $0.name.lowercased(), value: $0.value) }
            .sorted { $0.name < $1.name }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
        return "\(method.uppercased())\n\(path)\n\(query)"
    }
}
