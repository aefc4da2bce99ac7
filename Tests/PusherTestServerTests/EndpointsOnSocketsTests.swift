import NIOCore
import NIOHTTP1
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Authorization endpoints and webhooks, on real sockets", .limited)
struct EndpointsOnSocketsTests {
    private func authorize(
        _ server: PusherTestServer,
        _ form: String,
        path: String = "/pusher/auth"
    ) async throws -> (status: Int, headers: HTTPFields, body: String) {
        let headers: HTTPFields = ["Content-Type": "application/x-www-form-urlencoded", "X-Token": "t"]
        let request = HTTPRequest.to(server.url + path, headers: headers, body: form)
        let response = try await PooledHTTPRequester.ofTests.response(to: request)
        return (response.status, response.headers, String(decoding: response.body, as: UTF8.self))
    }

    @Test("a client requests an authorization and subscribes with it")
    func authorization() async throws {
        try await PusherTestServer.withServer { server in
            let client = try await SocketClient.connect(to: server)
            let socketID = try await client.socketID()
            let form = "socket_id=\(socketID)&channel_name=presence-x&user_id=a"
            let answer = try await authorize(server, form)
            #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/json")
            let members = try #require(JSONMembers(parsing: answer.body))
            let subscribe = Envelope.subscribe(
                channel: "presence-x",
                auth: members.value("auth")?.string,
                channelData: members.value("channel_data")?.string
            )
            client.send(subscribe.jsonText)
            #expect(try await server.waitForMember("a", of: "presence-x", timeout: .patience).userInfo == nil)
            #expect(server.authorizationRequests.map(\.bodyText) == [form])
            #expect(server.authorizationRequests.first?.header("x-token") == "t")

            let user = try await authorize(server, "socket_id=\(socketID)&user_id=a", path: "/pusher/user-auth")
            client.send(#"{"event":"pusher:signin","data":\#(user.body)}"#)
            client.send(Envelope.subscribe(channel: "#server-to-user-a").jsonText)
            let signedIn = try await server.waitForSignIn(of: "a", timeout: .patience)
            #expect(signedIn.map(\.socketID) == [socketID])
        }
    }

    @Test("waitForSignIn waits for the subscription to the user's own channel")
    func ownChannel() async throws {
        try await PusherTestServer.withServer { server in
            let client = try await SocketClient.connect(to: server)
            let socketID = try await client.socketID()
            let userData = #"{"id":"a"}"#
            let signed = server.authentication(forSocket: socketID, userData: userData)
            client.send(Envelope.signIn(auth: signed.auth, userData: userData).jsonText)
            try await server.nextRecord(timeout: .patience) { record in
                if case .signedIn = record.event { true } else { false }
            }
            #expect(try server.publish(event: "e", data: "{}", toUser: "a") == 0)
            await #expect(throws: PusherTestServer.ServerError.self) {
                try await server.waitForSignIn(of: "a", timeout: .milliseconds(1))
            }
            // The sign-in is enough, because the server does not answer the subscription.
            server.failSubscriptions(to: "#server-to-user-a", with: .unanswered)
            #expect(try await server.waitForSignIn(of: "a", timeout: .patience).count == 1)
            server.failSubscriptions(to: "#server-to-user-a", with: nil)
            client.send(Envelope.subscribe(channel: "#server-to-user-a").jsonText)
            #expect(try await server.waitForSignIn(of: "a", timeout: .patience).map(\.socketID) == [socketID])
            #expect(try server.publish(event: "e", data: "{}", toUser: "a") == 1)
            #expect(try server.publish(event: "e", data: "{}", to: "#server-to-user-a", excluding: socketID) == 0)
            client.send(Envelope.subscribe(channel: "news").jsonText)
            try await server.waitForSubscription(to: "news", timeout: .patience)
            #expect(try server.publish(event: "e", data: "{}", to: "news", "other", "#server-to-user-a") == 1)
            server.goSilent(.socket(socketID))
            #expect(try server.publish(event: "e", data: "{}", to: "news") == 0)
        }
    }

    @Test("each fault makes authorizations fail in its own way")
    func authorizationFaults() async throws {
        try await PusherTestServer.withServer { server in
            let form = "socket_id=1.1&channel_name=private-x"
            server.failAuthorizations(
                1,
                with: .status(503, headers: ["Retry-After": "3"], body: "later")
            )
            let refused = try await authorize(server, form)
            #expect(refused.status == 503 && refused.body == "later")
            #expect(refused.headers["Retry-After"] == "3")
            server.failAuthorizations(1, with: .redirected(to: "/pusher/auth?once"))
            #expect(try await authorize(server, form).status == 200)
            #expect(server.authorizationRequests.map(\.query) == ["", "", "once"])
            #expect(server.authorizationRequests.map(\.bodyText) == [form, form, form])
            server.failAuthorizations(1, with: .delayed(.milliseconds(1)))
            #expect(try await authorize(server, form).status == 200)
            server.failAuthorizations(1, with: .dropped)
            await #expect(throws: (any Error).self) { try await authorize(server, form) }
            server.failAuthorizations(1, with: .unanswered)
            let unanswered = Task { try await authorize(server, form) }
            try await server.nextRecord(timeout: .patience) { $0.event == .authorizationFailed(.unanswered) }
            await server.shutdown()
            await #expect(throws: (any Error).self) { try await unanswered.value }
        }
    }

    @Test("the server posts webhooks and repeats a failed post")
    func webhooks() async throws {
        var backendOptions = Options()
        backendOptions.host = LoopbackAddress.ofItsOwn()
        try await PusherTestServer.withServer(options: backendOptions) { backend in
            backend.failAuthorizations(2, with: .status(500))
            backend.failAuthorizations(with: .status(204))
            var options = Options()
            options.webhookURL = backend.url + "/pusher/auth"
            options.webhookDelay = .zero
            try await PusherTestServer.withServer(options: options) { server in
                let client = try await SocketClient.connect(to: server)
                _ = try await client.socketID()
                for channel in ["a", "b"] { client.send(Envelope.subscribe(channel: channel).jsonText) }
                // The server posts webhooks one after another. When the second webhook arrives, the outcome of the
                // first is known.
                await waitUntil {
                    server.webhooks.count == 2
                        && backend.authorizationRequests.last?.bodyText == server.webhooks.last
                }
                let statuses = [500, 500, 204].map { PusherTestServer.Record.Event.webhookAnswered(status: $0) }
                #expect(server.records.map(\.event).filter(statuses.contains).prefix(3) == statuses[...])
                let requests = backend.authorizationRequests
                let webhooks = server.webhooks
                #expect(requests.map(\.bodyText) == Array(repeating: webhooks.first, count: 3) + [webhooks.last])
                #expect(requests.first?.header("X-Pusher-Key") == "app-key")
                #expect(requests.first?.header("X-Pusher-Signature")?.count == 64)
                await backend.shutdown()
                client.drop()
                try await server.nextRecord(timeout: .patience) {
                    if case .webhookFailed = $0.event { true } else { false }
                }
            }
        }
    }

    @Test("the server records a webhook with an invalid URL as failed")
    func invalidWebhookURL() async throws {
        var options = Options()
        options.webhookURL = "no url"
        try await PusherTestServer.withServer(options: options) { server in
            let client = try await SocketClient.connect(to: server)
            client.send(Envelope.subscribe(channel: "a").jsonText)
            try await server.nextRecord(timeout: .patience) {
                if case .webhookFailed = $0.event { true } else { false }
            }
        }
    }
}
