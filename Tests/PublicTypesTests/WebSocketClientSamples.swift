import PusherTestServer
import TestSupport

@testable import WebSocketClient

enum WebSocketClientSamples {
    private static var ofTraits: [Any] {
        #if Compression
            [WebSocketCompression()]
        #else
            []
        #endif
    }

    static func make() async throws -> [Any] {
        try await PusherTestServer.withServer { server in
            let header = HTTPHeader(name: "Authorization", value: "Bearer hush")
            let secretOptions = with(WebSocketOptions()) {
                $0.tls = SharedSamples.tls; $0.proxy = SharedSamples.proxy
            }
            let url = "ws://127.0.0.1:\(server.port)/app/app-key?protocol=7&token=hush"
            let socket = try await WebSocket.connect(
                to: url,
                headers: [header],
                options: with(WebSocketOptions()) { $0.proxy = .direct }
            )
            let reconnecting = ReconnectingWebSocket(
                to: url,
                headers: [header],
                options: with(ReconnectingWebSocket.Options()) { $0.connection.proxy = SharedSamples.proxy }
            )
            let request = try WebSocketRequest(url: url, headers: [header])
            let response = WebSocketResponse(
                status: 403,
                headers: ["Set-Cookie": "hush"],
                body: Array("hush".utf8)
            )
            let error = WebSocketError(.upgradeFailed, "Refused.", httpStatus: 403, response: response)
            let samples: [Any] = [
                header, request.headers, secretOptions,
                with(ReconnectingWebSocket.Options()) { $0.connection = secretOptions },
                reconnecting, socket,
                request, response, error, ReconnectingWebSocket.Heartbeat.default,
                ReconnectingWebSocket.State.waiting(until: .now, attempt: 1, reason: error),
                WebSocketClosure(code: nil, error: error), WebSocketMessage.text("1"), socket.messages,
                socket.messages.makeAsyncIterator(), RetryContext(retryCount: 1, elapsed: .zero, reason: error),
                StandardRetryPolicy.exponential(),
            ]
            _ = try await socket.closed()
            return samples + ofTraits + SharedSamples.all
        }
    }
}
