import WebSocketClient

/// The examples on the first page of WebSocketClient's documentation.
enum WebSockets {
    static func prices() async throws {
        var options = ReconnectingWebSocket.Options()
        options.openingMessages = { [#"{"subscribe":"EUR"}"#] }
        let webSocket = ReconnectingWebSocket(to: "wss://example.com/prices", options: options)
        webSocket.connect()
        for try await message in webSocket.messages {
            if case .text(let text) = message { print(text) }
        }
    }

    static func withToken(_ freshToken: @escaping @Sendable () async throws -> String) -> ReconnectingWebSocket {
        let webSocket = ReconnectingWebSocket {
            try WebSocketRequest(
                url: "wss://example.com/prices",
                headers: ["Authorization": "Bearer \(try await freshToken())"]
            )
        }
        return webSocket
    }

    struct StopIfForbidden: RetryPolicy {
        func delay(for context: RetryContext) -> Duration? {
            if (context.reason as? WebSocketError)?.httpStatus == 403 { return nil }
            return StandardRetryPolicy.exponential().delay(for: context)
        }
    }
}
