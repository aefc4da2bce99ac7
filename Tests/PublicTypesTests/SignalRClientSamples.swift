import Foundation
import Logging
import SignalRTestServer

@testable import SignalRClient

enum SignalRClientSamples {
    static var options: HttpConnectionOptions {
        var options = HttpConnectionOptions()
        options.headers = ["X-Api-Key": "hush"]
        options.accessTokenFactory = { "hush" }
        options.proxy = SharedSamples.proxy
        options.tls = SharedSamples.tls
        return options
    }

    static func make() async throws -> [Any] {
        let url = "https://ada:hush@hub.test/hub?token=hush"
        let builder = HubConnectionBuilder().withUrl(url: url, options: options)
        let request = HttpRequest(
            method: .POST,
            url: url,
            content: .string("hush"),
            headers: ["Authorization": "Bearer hush"]
        )
        let error = SignalRClientError(.connectionFailed, "Negotiation failed: the server answered 500.")
        let hub = try await SignalRTestServer.inMemory()
        let connected = hub.connect(HubConnectionBuilder()).build()
        try await connected.start()
        let stream = try await connected.stream("counter", 1, 0.0, of: Int.self)
        let token = await connected.on("a") { (_: Int) in }
        let samples: [Any] = [
            StandardHubRetryPolicy.forever, token, options, request,
            HttpResponse(statusCode: 200, cookies: ["session=hush"]), StringOrData.string("hush"),
            StringOrData.data(Data("hush".utf8)), builder, builder.build(), connected,
            AuthenticationRefreshOptions(), HubConnectionStatus.waiting(until: .now, attempt: 1, reason: error),
            HubError("Refused."),
            HubMethod<Int, Int>("add"), stream, stream.makeAsyncIterator(), "a log message" as LogMessage,
            MessagePackKeys.custom(key: { $0 }, name: { $0 }), MsgpackTimestamp(seconds: 1, nanoseconds: 0),
            RetryContext(retryCount: 1, elapsed: 0, retryReason: error), error, SignalRError.invalidData("bytes"),
            StatefulReconnectOptions(), SwiftLogHandler(Logger(label: "a")),
        ]
        await connected.stop()
        await hub.shutdown()
        return samples + SharedSamples.all
    }
}
