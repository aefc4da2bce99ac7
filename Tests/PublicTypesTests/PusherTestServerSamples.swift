@testable import PusherTestServer

enum PusherTestServerSamples {
    private typealias Request = PusherTestServer.Request
    private typealias Event = PusherTestServer.Record.Event

    private static let header = HTTPHeader(name: "Authorization", value: "Bearer hush")
    private static let request = Request(
        method: "POST",
        target: "/apps/1/events?auth_signature=\(PrintedTypesTests.signature)&token=hush",
        headers: [header],
        body: Array("token=hush".utf8)
    )

    static func make() throws -> [Any] {
        let application = PusherTestServer.Application(secret: "hush")
        let tls = PusherTestServer.TLS(certificateChain: "chain", privateKey: "hush")
        var options = PusherTestServer.Options()
        options.application = application
        options.encryptionMasterKey = "hush"
        options.tls = tls
        let server = PusherTestServer(options: options)
        let relay = PusherTestRelay(options: .init(serverPort: 1))
        let connection = PusherTestServer.Connection(
            socketID: "1.2",
            request: request,
            transport: .webSocket,
            subscribedChannels: [],
            userID: nil,
            isEstablished: true,
            isSilent: false
        )
        let fault = PusherTestServer.AuthorizationFault.status(403, headers: ["Set-Cookie": "hush"])
        let secrets: [Any] = [
            application, tls, options, server, relay, connection, request, header, request.headers, fault,
            PusherTestServer.ChannelAuthorizationRequest(
                socketID: "1.2",
                channel: "private-a",
                parameters: ["csrf": "hush"],
                request: request
            ),
            PusherTestServer.UserAuthenticationRequest(
                socketID: "1.2",
                parameters: ["csrf": "hush"],
                request: request
            ),
            server.authorization(forSocket: "1.2", channel: "private-encrypted-a"),
            server.publishRequest(event: "e", data: "1", to: ["a"]),
            SignedRESTRequest(method: "GET", path: "/", application: application),
        ]
        let events: [Event] = [
            .connectionRequested(request), .authorizationRequested(request), .requestAnswered(request, status: 200),
            .authorizationFailed(fault),
            .messageReceived(
                #"{"event":"pusher:subscribe","data":{"auth":"app-key:\#(PrintedTypesTests.signature)"}}"#
            ),
            .messageSent("but got \(PrintedTypesTests.signature)"),
            .subscriptionRefused(channel: "a", message: "but got \(PrintedTypesTests.signature)"),
            .connectionRefused(code: 4009, message: PrintedTypesTests.signature),
            .signInRefused(message: PrintedTypesTests.signature),
            .closeSent(code: 4009, reason: PrintedTypesTests.signature),
        ]
        let records = events.enumerated().map { PusherTestServer.Record(index: $0, socketID: "1.2", event: $1) }
        let others: [Any] = [
            PusherTestRelay.Connection(index: 0), PusherTestRelay.Options(serverPort: 1),
            PusherTestRelay.StreamFault.delayed(.zero), PusherTestRelay.UpgradeFault.answered(status: 403),
            PusherTestServer.ChannelAuthorization.allow(), PusherTestServer.UserAuthentication.allow(),
            PusherTestServer.ConnectionFault.refused(status: 403), PusherTestServer.Dialect.pusher,
            PusherTestServer.Dialect.Cache(), PusherTestServer.Dialect.ClientEvents(),
            PusherTestServer.Dialect.Presence(),
            PusherTestServer.Dialect.Users(), PusherTestServer.Dialect.IdleLimit(.zero),
            PusherTestServer.Dialect.IdleLimit.Ending.close(code: 1000), try server.join("ada", in: "presence-a"),
            PusherTestServer.HTTPTransports(), PusherTestServer.Member(userID: "ada", userInfo: nil),
            PusherTestServer.MessageLimit(count: 1), PusherTestServer.Recording(events: []),
            PusherTestServer.Recording.Event(time: .zero, channel: "a", name: "created"), server.recordSequence,
            server.recordSequence.makeAsyncIterator(),
            PusherTestServer.ServerError(.waitTimedOut, "Timed out."),
            PusherTestServer.SubscriptionFault.error(code: nil, message: "no"), PusherTestServer.Target.socket("1.2"),
            PusherTestServer.TransportRequestFault.delayed(.zero),
        ]
        return secrets + events + records + others
    }
}
