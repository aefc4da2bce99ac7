import Foundation
import NIOConcurrencyHelpers
import NIOCore
import SignalRClient
import SignalRCore
import SignalRTestServer
import SocketTestSupport
import TestTraits
import Testing

@Suite(.limited) struct NegotiatingTests {
    func connection(
        _ server: SignalRTestServer,
        _ change: (inout HttpConnectionOptions) -> Void = { _ in }
    ) -> HubConnection {
        var options = HttpConnectionOptions()
        change(&options)
        return HubConnectionBuilder.patient.withUrl(url: server.url, options: options).build()
    }

    func startError(_ connection: HubConnection) async -> (any Error)? {
        do {
            try await connection.start()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [1, 100]) func followsRedirects(count: Int) async throws {
        try await withServer { server in
            await server.redirect(times: count)
            let connection = connection(server)
            try await connection.start()
            try await connection.invoke(method: "nothing")
            let requests = server.requests
            #expect(requests.filter { $0.target.contains("/negotiate") }.count == count + 1)
            // The client keeps the query of the redirect.
            #expect(requests.last?.target.hasPrefix("/hub?redirect=\(count)&id=") == true)
            await connection.stop()
        }
    }

    @Test func moreThan100RedirectsAreAnError() async throws {
        try await withServer { server in
            await server.redirect(times: 101)
            #expect(
                await startError(connection(server)) as? SignalRError
                    == .negotiationError("the server redirects too often.")
            )
        }
    }

    @Test func aRedirectReplacesTheToken() async throws {
        try await withServer { server in
            await server.redirect(times: 1, token: "theirs")
            let connection = connection(server) { $0.accessTokenFactory = { "mine" } }
            try await connection.start()
            let tokens = server.requests.map { $0.headers["authorization"] }
            #expect(tokens == ["Bearer mine", "Bearer theirs", "Bearer theirs"])
            await connection.stop()
        }
    }

    @Test(arguments: Route.all.filter { !$0.isInMemory }) func everyRequestHasTheTokenAndTheHeaders(
        _ route: Route
    ) async throws {
        var options = TestHubOptions()
        options.requiredToken = "t"
        try await withServer(options) { server in
            var options = HttpConnectionOptions()
            options.accessTokenFactory = { "t" }
            options.headers = ["x-app": "1", "user-agent": "mine"]
            options.transport = route.transport
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, options: options)
                .withHubProtocol(hubProtocol: route.hubProtocol).build()
            try await connection.start()
            try await connection.invoke(method: "nothing")
            await connection.stop()
            await server.waitForDisconnections()
            #expect(server.requests.allSatisfy { $0.headers["authorization"] == "Bearer t" })
            #expect(server.requests.allSatisfy { $0.headers["x-app"] == "1" && $0.headers["user-agent"] == "mine" })
            // A load balancer needs this cookie to find the same server.
            #expect(server.requests.dropFirst().allSatisfy { $0.headers["cookie"] == "server=a" })
        }
    }

    @Test func aTokenThatIsRefusedIsAskedForOnceMore() async throws {
        var options = TestHubOptions()
        options.requiredToken = "token 2"
        for transport in [HttpTransportType.webSockets, .longPolling] {
            try await withServer(options) { server in
                let count = NIOLockedValueBox(0)
                let connection = connection(server) { options in
                    options.transport = transport
                    options.accessTokenFactory = {
                        count.withLockedValue { count in
                            count += 1
                            return "token \(count)"
                        }
                    }
                }
                try await connection.start()
                #expect(count.withLockedValue { $0 } == 2)
                await connection.stop()
            }
        }
    }

    @Test func aRefusedTokenIsAnErrorWithItsStatus() async throws {
        var options = TestHubOptions()
        options.requiredToken = "t"
        try await withServer(options) { server in
            let error = await startError(connection(server) { $0.accessTokenFactory = { "wrong" } })
            #expect((error as? SignalRClientError)?.httpStatus == 401)
            #expect(server.requests.count == 2)
        }
    }

    @Test func a404HasAHint() async throws {
        try await withServer { server in
            await server.fail(.negotiate, .status(404))
            let error = try #require(await startError(connection(server)) as? SignalRClientError)
            #expect(error.httpStatus == 404 && error.message.contains("may not be a SignalR endpoint"))
        }
    }

    @Test(arguments: [
        #"{"error":"no room"}"#, #"{"ProtocolVersion":"1.5","Url":"/signalr"}"#, "<html>", "{}", "",
        #"{"connectionId":"x","availableTransports":[]}"#,
        #"{"connectionId":"x","availableTransports":[{"transport":"Carrier","transferFormats":["Text"]}]}"#,
    ]) func unusableAnswersFailTheStart(_ body: String) async throws {
        try await withServer { server in
            await server.fail(.negotiate, .body(body))
            let connection = connection(server)
            #expect(await startError(connection) != nil)
            // After the failure, another start succeeds.
            try await connection.start()
            await connection.stop()
        }
    }

    @Test func aTransportThatFailsIsFollowedByTheNextWithANewNegotiation() async throws {
        try await withServer { server in
            await server.fail(.webSocket, .status(500), times: 2)
            await server.fail(.serverSentEvents, .status(500))
            let connection = connection(server)
            try await connection.start()
            #expect(connection.transport == .longPolling)
            let ids = Set(
                server.requests.filter { !$0.target.contains("/negotiate") }.map { $0.target.split(separator: "=")[1] }
            )
            #expect(ids.count >= 2)
            await connection.stop()
        }
    }

    @Test func theSecondTransportUsesTheTokenOfItsOwnNegotiation() async throws {
        try await withServer { server in
            await server.fail(.webSocket, .status(500))
            let connection = connection(server)
            try await connection.start()
            #expect(connection.transport == .serverSentEvents && connection.connectionId == "id-2")
            #expect(server.requests.filter { $0.target.contains("/negotiate") }.count == 2)
            let ids = server.requests.filter { !$0.target.contains("/negotiate") }
                .map { $0.target.replacingOccurrences(of: "/hub?id=", with: "") }
            #expect(ids.prefix(2) == ["token%2F1%2B", "token%2F2%2B"])
            await connection.stop()
        }
    }

    @Test func aTokenThatTheAppCannotGetIsNamed() async throws {
        struct Failure: Error { var secret = "hidden" }
        try await withServer { server in
            let connection = connection(server) { $0.accessTokenFactory = { throw Failure() } }
            let error = try #require(await startError(connection) as? SignalRClientError)
            #expect(error.code == .accessTokenFailed && error.cause is Failure)
            #expect(
                error.message
                    == """
                    Access token not available: the accessTokenFactory threw an error of the type 'Failure'. Only the \
                    error's cause contains its text, which may be secret.
                    """
            )
            #expect(server.requests.isEmpty)
        }
    }

    @Test func noOtherTransportIsTriedWithoutAToken() async throws {
        struct Failure: Error {}
        try await withServer { server in
            let count = NIOLockedValueBox(0)
            await server.fail(.webSocket, .status(401))
            let connection = connection(server) {
                $0.accessTokenFactory = {
                    let isFirst = count.withLockedValue { count in
                        count += 1
                        return count == 1
                    }
                    if isFirst { return "t" }
                    throw Failure()
                }
            }
            let error = await startError(connection) as? SignalRClientError
            #expect(error?.code == .accessTokenFailed && error?.cause is Failure)
            #expect(server.requests.count == 2)
        }
    }

    /// An opener whose transport opens when the test says so, regardless of a cancellation.
    private final class LateOpener: HubTransportOpener, HubTransport {
        let aborts = NIOLockedValueBox(0)
        private let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let begun = Inbox<Void>()

        func open(
            wantsResumption: Bool,
            on eventLoop: any EventLoop,
            receive: @escaping OpenedTransport.Receiver
        ) async throws -> OpenedTransport {
            begun.add(())
            await Task { for await _ in gate { break } }.value
            let info = TransportInfo(connectionID: nil, transport: .webSockets)
            return OpenedTransport(self, info) { _ in self }
        }

        func openNow() { open.yield() }
        func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?) { promise?.succeed() }
        func close() {}
        func abort() { aborts.withLockedValue { $0 += 1 } }
    }

    @Test func aTransportThatOpensAfterTheStopIsAborted() async throws {
        let opener = LateOpener()
        let connection = HubConnectionBuilder.patient.withUrl(url: "http://127.0.0.1").withOpener(opener).build()
        let start = Task { await startError(connection) }
        try await opener.begun.next()
        await connection.stop()
        #expect(await start.value as? SignalRError == .connectionAborted)
        opener.openNow()
        #expect(await turns { opener.aborts.withLockedValue { $0 } == 1 })
        #expect(await connection.state() == .Stopped)
        #expect(try await connection.residueCount() == 0)
    }

    @Test func theErrorNamesEveryTransport() async throws {
        try await withServer { server in
            await server.fail(.webSocket, .status(500), times: 2)
            let connection = HubConnectionBuilder.patient.withUrl(
                url: server.url,
                transport: [.webSockets, .serverSentEvents]
            )
            .withHubProtocol(hubProtocol: .messagePack).build()
            let error = try #require(await startError(connection) as? SignalRClientError)
            #expect(error.code == .allTransportsFailed)
            #expect(error.message.contains("WebSockets: ") && error.message.contains("500"))
            #expect(error.message.contains("ServerSentEvents: it does not carry binary messages"))
            #expect(error.message.contains("LongPolling: the options do not permit it"))
        }
    }

    @Test func theErrorOfManyTransportsWithLongNamesIsShort() async throws {
        try await withServer { server in
            let name = String(repeating: "x", count: 10_000)
            let transport = #"{"transport":"\#(name)","transferFormats":["Text"]}"#
            let transports = Array(repeating: transport, count: 30).joined(separator: ",")
            await server.fail(.negotiate, .body(#"{"connectionId":"x","availableTransports":[\#(transports)]}"#))
            let error = try #require(await startError(connection(server)) as? SignalRClientError)
            #expect(error.code == .allTransportsFailed && error.message.utf8.count < 11_000)
            #expect(error.message.hasSuffix(" The server offers 20 more."))
        }
    }

    @Test func aNegotiationHasALimitLikeAMessage() async throws {
        try await withServer { server in
            let id = String(repeating: "x", count: 70_000)
            await server.fail(.negotiate, .body(#"{"connectionId":"\#(id)","availableTransports":[]}"#))
            let connection = connection(server) { $0.maximumMessageSize = 1_000 }
            let error = try #require(await startError(connection) as? SignalRClientError)
            let address = "\(server.url)/negotiate"
            #expect(error.message == "Request to \(address) failed: the response has more than 65536 bytes.")
            try await connection.start()
            await connection.stop()
        }
    }

    @Test(arguments: ["/hub/negotiate", "/hub"]) func theErrorNamesACompressedAnswer(path: String) async throws {
        let answer = """
            {"connectionId":"x","availableTransports":[{"transport":"ServerSentEvents","transferFormats":["Text"]}]}
            """
        try await HTTPTestServer.serving { request in
            let isCompressed = request.uri.prefix { $0 != "?" } == path
            return .answer(200, isCompressed ? ["Content-Encoding": "gzip"] : [:], answer)
        } _: { server in
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url + "/hub").build()
            let error = try #require(await startError(connection) as? SignalRClientError)
            let text = """
                Request to \(server.url)\(path) failed: the response has the content encoding "gzip", although the \
                request accepts only uncompressed responses. Turn the compression off for this URL.
                """
            #expect(error.message.contains(text), "\(error)")
        }
    }

    @Test func negotiationCanBeSkipped() async throws {
        try await withServer { server in
            let connection = connection(server) { options in
                options.skipNegotiation = true
                options.transport = .webSockets
            }
            try await connection.start()
            #expect(connection.connectionId == nil)
            #expect(server.requests.map(\.target) == ["/hub"])
            await connection.stop()
            let wrong = self.connection(server) { $0.skipNegotiation = true }
            guard case .negotiationError = await startError(wrong) as? SignalRError else {
                return #expect(Bool(false), "Only WebSockets need no negotiation.")
            }
        }
    }

    @Test(arguments: [TestHubStep.negotiate, .poll]) func stopEndsAStartThatWaits(_ step: TestHubStep) async throws {
        try await withServer { server in
            await server.fail(step, .silence)
            let connection = connection(server) { $0.transport = .longPolling }
            async let start = startError(connection)
            await server.waitForRequests { !$0.isEmpty && ($0.count > 1 || step == .negotiate) }
            await connection.stop()
            let error = await start
            #expect(error as? SignalRError == .connectionAborted)
            #expect(await connection.state() == .Stopped)
        }
    }

    @Test func cancellingTheTaskEndsTheStart() async throws {
        try await withServer { server in
            await server.fail(.negotiate, .silence)
            let connection = connection(server)
            let task = Task { await startError(connection) }
            await server.waitForRequests { !$0.isEmpty }
            task.cancel()
            #expect(await task.value is CancellationError)
            #expect(await connection.state() == .Stopped)
        }
    }

    @Test func theTokenMayGoIntoTheQuery() async throws {
        try await withServer { server in
            let connection = connection(server) { options in
                options.accessTokenFactory = { "a/b" }
                options.sendsAccessTokenInQuery = true
            }
            try await connection.start()
            #expect(server.requests.allSatisfy { $0.target.contains("access_token=a%2Fb") })
            await connection.stop()
        }
    }

    @Test(
        arguments: [
            (.refuse("no"), SignalRError.handshakeError("no")),
            (.bytes(Array("{\"type\":6}\u{1E}".utf8)), .expectedHandshakeResponse),
            (.bytes(Array("garbage\u{1E}".utf8)), .expectedHandshakeResponse),
        ] as [(TestHubHandshake, SignalRError)]
    )
    func badHandshakesFailTheStart(handshake: TestHubHandshake, error: SignalRError) async throws {
        try await withServer { server in
            await server.setHandshake(handshake)
            #expect(await startError(connection(server)) as? SignalRError == error)
        }
    }

    @Test(arguments: Route.all) func framesMayBeCutAnywhere(_ route: Route) async throws {
        try await withServer(inMemory: route.isInMemory) { server in
            await server.cut(intoPiecesOf: 1)
            let connection = route.builder(server).build()
            try await connection.start()
            // The test sends ASCII, because a text frame cannot contain a part of a character.
            let text: String = try await connection.invoke(method: "echo", arguments: "in pieces")
            #expect(text == "in pieces")
            await connection.stop()
        }
    }
}
