import Foundation
import NIOConcurrencyHelpers
import SignalRClient
import SignalRTestServer
import SocketTestSupport
import TestTLS
import TestTraits
import Testing

/// Tests that tokens, header fields and cookies reach only servers that the app trusts.
@Suite(.limited) struct SecretsElsewhereTests {
    /// A client that answers negotiations with scripted texts, and records the requests.
    private final class ScriptedHttpClient: HttpClient {
        let requests = NIOLockedValueBox<[HttpRequest]>([])
        private let answers: [String]
        private let statuses: [Int]

        /// - Parameter statuses: The statuses of the answers. Default: 200 for each.
        init(_ answers: [String], statuses: [Int] = []) {
            self.answers = answers
            self.statuses = statuses
        }

        func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
            let index = requests.withLockedValue { requests in
                requests.append(request)
                return requests.count - 1
            }
            guard answers.indices.contains(index) else { return (.string(""), HttpResponse(statusCode: 500)) }
            let status = statuses.indices.contains(index) ? statuses[index] : 200
            return (.string(answers[index]), HttpResponse(statusCode: status, cookies: ["session=hidden"]))
        }
    }

    private func start(
        _ url: String,
        _ answers: [String],
        statuses: [Int] = [],
        _ change: (inout HttpConnectionOptions) -> Void = { _ in }
    ) async -> (error: (any Error)?, requests: [HttpRequest]) {
        let client = ScriptedHttpClient(answers, statuses: statuses)
        var options = HttpConnectionOptions()
        options.httpClient = client
        options.transport = .longPolling
        options.headers = ["X-Api-Key": "key", "X-Trace": "1", "Accept": "*/*", "Cookie": "a=b"]
        options.accessTokenFactory = { "mine" }
        change(&options)
        do {
            try await HubConnectionBuilder.patient.withUrl(url: url, options: options).build().start()
            return (nil, client.requests.withLockedValue { $0 })
        } catch {
            return (error, client.requests.withLockedValue { $0 })
        }
    }

    @Test func aNegotiationDoesNotLeadFromHTTPSToHTTP() async {
        let answer = #"{"url":"http://plain.test/hub?x=hidden","accessToken":"theirs"}"#
        let (error, requests) = await start("https://hub.test/hub", [answer])
        #expect(requests.count == 1)
        guard case .negotiationError(let reason)? = error as? SignalRError else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(
            reason == "the server redirects from https://hub.test to http://plain.test, which is not encrypted. "
                + "Correct the server's answer, or set allowsInsecureRedirects."
        )
        let (_, allowed) = await start("https://hub.test/hub", [answer]) { $0.allowsInsecureRedirects = true }
        #expect(allowed.count == 2 && allowed[1].url.hasPrefix("http://plain.test/hub/negotiate?x=hidden"))
    }

    @Test(arguments: ["ftp://other.test/hub", "/hub", ""]) func aNegotiationLeadsOnlyToHTTP(_ url: String) async {
        let (error, requests) = await start("https://hub.test/hub", [#"{"url":"\#(url)"}"#])
        #expect(requests.count == 1)
        guard case .negotiationError = error as? SignalRError else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
    }

    @Test func anotherOriginGetsOnlyMarkedHeadersAndItsOwnToken() async {
        let answers = [#"{"url":"https://other.test/hub","accessToken":"theirs"}"#]
        let (_, requests) = await start("https://hub.test/hub", answers) { options in
            options.headersForOtherOrigins = ["x-trace", "Host"]
        }
        #expect(requests.count == 2)
        #expect(requests[0].headers["X-Api-Key"] == "key" && requests[0].headers["Authorization"] == "Bearer mine")
        let names = ["Accept", "Authorization", "User-Agent", "X-Requested-With", "X-Trace"]
        #expect(requests[1].headers.keys.sorted() == names)
        #expect(requests[1].headers["Authorization"] == "Bearer theirs")
    }

    @Test func theSameOriginGetsAllHeaders() async {
        let (_, requests) = await start("https://hub.test/hub", [#"{"url":"https://HUB.test:443/other"}"#])
        #expect(requests.count == 2)
        #expect(requests[1].headers["X-Api-Key"] == "key" && requests[1].headers["X-Trace"] == "1")
        // The app's token is for the first URL only, and the app's cookie replaces the server's cookie.
        #expect(requests[1].headers["Authorization"] == nil && requests[1].headers["Cookie"] == "a=b")
    }

    @Test(arguments: [#","accessToken":"theirs""#, ""])
    func anotherOriginThatWantsATokenGetsNoneOfTheApp(_ token: String) async {
        let answers = [#"{"url":"https://other.test/hub"\#(token)}"#, "", ""]
        let tokens = NIOLockedValueBox(0)
        let (error, requests) = await start("https://hub.test/hub", answers, statuses: [200, 401, 401]) { options in
            options.headers = nil
            options.accessTokenFactory = {
                tokens.withLockedValue { $0 += 1 }
                return "mine"
            }
        }
        #expect((error as? SignalRClientError)?.httpStatus == 401)
        #expect(requests.map { $0.headers["Authorization"] } == ["Bearer mine", token.isEmpty ? nil : "Bearer theirs"])
        // The cookie belongs to the first server.
        #expect(requests.last?.headers["Cookie"] == nil)
        #expect(tokens.withLockedValue { $0 } == 1)
    }

    // MARK: Pins

    private static let otherPin = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// Starts a connection to a server with a certificate, which answers every request with a text.
    ///
    /// - Parameter answer: A closure that gets the second server's port.
    /// - Returns: The error, and the paths of the requests that each server got.
    private func start(
        pinning: (TestCertificates) -> Set<String>,
        _ transport: HttpTransportType,
        skipsNegotiation: Bool = false,
        _ answer: @escaping @Sendable (Int) -> String
    ) async throws -> (error: (any Error)?, first: [String], second: [String]) {
        let (certificates, others) = (TestCertificates(), TestCertificates.ofAnotherAuthority)
        return try await HTTPTestServer.serving(tls: others.serverContext) { _ in
            .answer(500)
        } _: { other in
            let port = other.port
            return try await HTTPTestServer.serving(tls: certificates.serverContext) { _ in
                .answer(200, [:], answer(port))
            } _: { server in
                var options = HttpConnectionOptions()
                options.tls = TLSOptions(
                    trustRoots: .only(pem: certificates.rootPEM + "\n" + others.rootPEM),
                    pins: pinning(certificates)
                )
                options.proxy = .direct
                options.transport = transport
                options.skipNegotiation = skipsNegotiation
                options.accessTokenFactory = { "hidden" }
                let url = "https://localhost:\(server.port)/hub"
                let connection = HubConnectionBuilder().withUrl(url: url, options: options).build()
                var failure: (any Error)?
                do {
                    try await connection.start()
                } catch {
                    failure = error
                }
                await connection.stop()
                let paths = { (server: HTTPTestServer) in
                    server.requests.map { String($0.uri.prefix { $0 != "?" }) }
                }
                return (failure, paths(server), paths(other))
            }
        }
    }

    @Test(arguments: [.webSockets, .serverSentEvents, .longPolling] as [HttpTransportType])
    func aNegotiationReachesOnlyAPinnedServer(_ transport: HttpTransportType) async throws {
        let refused = try await start(pinning: { _ in [Self.otherPin] }, transport) { _ in "{}" }
        #expect((refused.error as? SignalRClientError)?.code == .pinMismatch)
        #expect(refused.first.isEmpty)
        // The servers redirect the negotiation to each other, and only one of them is pinned.
        let elsewhere = try await start(pinning: { [$0.serverPin] }, transport) { port in
            #"{"url":"https://localhost:\#(port)/hub","accessToken":"hidden"}"#
        }
        #expect((elsewhere.error as? SignalRClientError)?.code == .pinMismatch)
        #expect(elsewhere.first == ["/hub/negotiate"])
        #expect(elsewhere.second.isEmpty)
    }

    @Test func withoutNegotiationAWebSocketReachesOnlyAPinnedServer() async throws {
        let refused = try await start(pinning: { _ in [Self.otherPin] }, .webSockets, skipsNegotiation: true) { _ in
            ""
        }
        #expect((refused.error as? SignalRClientError)?.code == .pinMismatch)
        #expect(refused.first.isEmpty)
        let reached = try await start(pinning: { [$0.serverPin] }, .webSockets, skipsNegotiation: true) { _ in "" }
        #expect((reached.error as? SignalRClientError)?.code == .connectionFailed)
        #expect(reached.first == ["/hub"])
    }

    @Test(
        arguments: [("ServerSentEvents", .serverSentEvents), ("LongPolling", .longPolling)]
            as [(String, HttpTransportType)]
    )
    func theTransportsOverHTTPUsePins(_ name: String, _ transport: HttpTransportType) async throws {
        let negotiation = """
            {"connectionId":"x","negotiateVersion":1,"connectionToken":"t","availableTransports":\
            [{"transport":"\(name)","transferFormats":["Text"]}]}
            """
        let reached = try await start(pinning: { [Self.otherPin, $0.serverPin] }, transport) { _ in negotiation }
        // The server's answers are not those of a hub, but they show that the requests arrived.
        #expect(reached.error != nil)
        #expect(reached.first.prefix(2) == ["/hub/negotiate", "/hub"])
    }

    @Test(
        arguments: [
            ("WebSockets", .webSockets), ("ServerSentEvents", .serverSentEvents), ("LongPolling", .longPolling),
        ] as [(String, HttpTransportType)]
    )
    func aConnectionAfterTheNegotiationReachesOnlyAPinnedServer(_ name: String, _ transport: HttpTransportType)
        async throws
    {
        let (certificates, others) = (TestCertificates(), TestCertificates.ofAnotherAuthority)
        let negotiation = """
            {"connectionId":"x","negotiateVersion":1,"connectionToken":"t","availableTransports":\
            [{"transport":"\(name)","transferFormats":["Text"]}]}
            """
        // The negotiation's connection closes, and the next one shows another certificate.
        try await HTTPTestServer.serving(tls: certificates.serverContext, laterTLS: others.serverContext) { _ in
            .answer(200, ["Connection": "close"], negotiation)
        } _: { server in
            var options = HttpConnectionOptions()
            options.tls = TLSOptions(
                trustRoots: .only(pem: certificates.rootPEM + "\n" + others.rootPEM),
                pins: [certificates.serverPin]
            )
            options.proxy = .direct
            options.transport = transport
            options.accessTokenFactory = { "hidden" }
            let url = "https://localhost:\(server.port)/hub"
            let connection = HubConnectionBuilder.patient.withUrl(url: url, options: options).build()
            let error = await #expect(throws: SignalRClientError.self) { try await connection.start() }
            #expect(error?.code == .pinMismatch, "\(String(describing: error))")
            #expect(server.requests.map { $0.uri.prefix { $0 != "?" } } == ["/hub/negotiate"])
            #expect(server.connectionCount > 1)
        }
    }

    @Test(arguments: ["WebSockets", "ServerSentEvents"], [true, false])
    func aServerThatTLSExcludesIsReachedOverNoOtherTransport(_ name: String, isPinned: Bool) async throws {
        let (certificates, others) = (TestCertificates(), TestCertificates.ofAnotherAuthority)
        try await HTTPTestServer.serving(tls: certificates.serverContext) { _ in
            .answer(200)
        } _: { server in
            let transports = [name, "LongPolling"].map { #"{"transport":"\#($0)","transferFormats":["Text"]}"# }
            // The app's own client checks no certificates. It would make the polls.
            let client = ScriptedHttpClient([
                #"{"connectionId":"x","availableTransports":[\#(transports.joined(separator: ","))]}"#
            ])
            var options = HttpConnectionOptions()
            options.httpClient = client
            options.tls = TLSOptions(
                trustRoots: .only(pem: (isPinned ? certificates : others).rootPEM),
                pins: isPinned ? [Self.otherPin] : []
            )
            options.proxy = .direct
            let url = "https://localhost:\(server.port)/hub"
            let connection = HubConnectionBuilder.patient.withUrl(url: url, options: options).build()
            let error = await #expect(throws: SignalRClientError.self) { try await connection.start() }
            #expect(error?.code == (isPinned ? .pinMismatch : .tlsFailed), "\(String(describing: error))")
            #expect(client.requests.withLockedValue { $0.count } == 1)
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func withPinsThereIsNoConnectionWithoutTLS(_ skipsNegotiation: Bool) async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.tls = TLSOptions(pins: [Self.otherPin])
            options.skipNegotiation = skipsNegotiation
            options.transport = .webSockets
            let connection = HubConnectionBuilder().withUrl(url: server.url, options: options).build()
            let error = await #expect(throws: SignalRClientError.self) { try await connection.start() }
            #expect(error?.message.contains("has no TLS") == true)
            #expect(server.requests.isEmpty)
        }
    }
}
