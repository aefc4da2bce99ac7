import RealtimeJSON

/// The request that refreshes the authentication of a connection, and its answer.
package enum AuthenticationRefresh {
    /// The name of the header field with the connection's token.
    package static let tokenField = "X-SignalR-Connection-Token"

    /// Reads the time until the new authentication expires; `nil` if the server names none.
    package static func lifetime(_ body: [UInt8]) -> Duration? { member("tokenLifetimeSeconds", of: body)?.seconds }

    /// Makes the error for a refusal.
    package static func refusal(status: Int, body: [UInt8]) -> SignalRClientError {
        let reason = member("error", of: body)?.string
        let explanation =
            switch (status, reason) {
            case (401, _): "the server did not accept the new token"
            case (403, _): "the new token is of another user, or the server did not accept it"
            case (404, nil): "the hub does not refresh tokens. Set EnableAuthenticationRefresh on the server"
            case (404, _): "the server does not know the connection"
            default: "the server answered with HTTP status \(status)"
            }
        let word = reason.map { " (\($0.prefix(100)))" } ?? ""
        return SignalRClientError(
            (400..<500).contains(status) ? .authenticationRefreshRefused : .connectionFailed,
            "Authentication not refreshed: \(explanation)\(word).",
            httpStatus: status
        )
    }

    private struct Member {
        var string: String?
        var seconds: Duration?
    }

    private static func member(_ name: String, of body: [UInt8]) -> Member? {
        try? JSONNode.read(body[...]) { object in
            try object.requiredMembers().last { $0.name == name }.map {
                Member(string: $0.value.string, seconds: $0.value.seconds)
            }
        }
    }
}

extension JSONNode {
    /// A number of whole seconds, up to 10⁹; `nil` for any other value.
    var seconds: Duration? { unsigned.map { .seconds(Int64(clamping: min($0, 1_000_000_000))) } }
}
