import NIOCore
import NIOEmbedded
import SignalRClient
import TestSupport

@testable import EventSourceTestServer
@testable import RealtimeTestHTTP
@testable import SignalRTestServer

enum EventSourceTestServerSamples {
    static func make() async throws -> [Any] {
        let request = TestRequest(
            method: "POST",
            target: "/feed?token=hush",
            headers: ["Authorization": "Bearer hush"],
            body: Array("hush".utf8)
        )
        let certificate = EventSourceTestServer.Certificate(certificateChain: "chain", privateKey: "hush")
        return try await EventSourceTestServer.withServer { server in
            [
                server, certificate, request, request.headers, request.headers[0],
                TestExchange(request, number: 1, HTTPTestExchange(EmbeddedChannel(), .init(isLast: true))),
                TestResponse.text("1"), TestResponse.Step.send("1"),
            ]
        }
    }
}

enum SignalRTestServerSamples {
    static func make() async throws -> [Any] {
        var options = TestHubOptions()
        options.requiredToken = "hush"
        let server = try await SignalRTestServer.start(options: options)
        let calls = Log<TestHubCall>()
        server.on("Keep") { (call: TestHubCall) in calls.append(call) }
        var clientOptions = HttpConnectionOptions()
        clientOptions.accessTokenFactory = { "hush" }
        clientOptions.proxy = .direct
        clientOptions.sendsAccessTokenInQuery = true
        let connection = HubConnectionBuilder().withUrl(url: server.url, options: clientOptions).build()
        try await connection.start()
        try await connection.invoke(method: "Keep")
        let samples: [Any] = [
            server, options, TestHubFault.status(500), TestHubHandshake.refuse("no"),
            TestHubFailure(connectionID: "1", method: "a", reason: "no"), TestHubStep.poll, TestHubRule.pings,
            TestHubCertificate(certificateChain: "chain", privateKey: "hush"),
            TestHubAuthorization.allow(userID: "ann"),
            TestHubResponse(text: "hush"), TestHubClients.all,
        ]
        let records: [Any] = calls.elements + server.requests + server.connections
        await connection.stop()
        await server.shutdown()
        return samples + records
    }
}
