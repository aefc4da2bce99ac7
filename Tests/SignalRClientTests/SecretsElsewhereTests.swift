import Foundation
import NIOConcurrencyHelpers
import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

/// Tests that tokens, header fields and cookies reach only servers that the app trusts.
@Suite(.limited) struct SecretsElsewhereTests {
    /// A client that answers negotiations with scripted texts, and records the requests.
    private final class ScriptedHttpClient: HttpClient {
        let requests = NIOLockedValueBox<[HttpRequest]>([])
        private let answers: [String]

        init(_ answers: [String]) { self.answers = answers }

        func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
            let index = requests.withLockedValue { requests in
                requests.append(request)
                return requests.count - 1
            }
            guard answers.indices.contains(index) else { return (.string(""), HttpResponse(statusCode: 500)) }
            return (.string(answers[index]), HttpResponse(statusCode: 200, cookies: ["session=hidden"]))
        }
    }

    private func start(
        _ url: String,
        _ answers: [String],
        _ change: (inout HttpConnectionOptions) -> Void = { _ in }
    ) async -> (error: (any Error)?, requests: [HttpRequest]) {
        let client = ScriptedHttpClient(answers)
        var options = HttpConnectionOptions()
        options.httpClient = client
        options.transport = .longPolling
        options.headers = ["X-Api-Key": "key", "X-Trace": "1", "Accept": "*/*", "Cookie": "a=b"]
        options.accessTokenFactory = { "mine" }
        change(&options)
        do {
            try await HubConnectionBuilder().withUrl(url: url, options: options).build().start()
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

    // MARK: Pins

    private static let pins = TLSOptions(pins: ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])

    @Test(arguments: [.webSockets, .serverSentEvents, .longPolling] as [HttpTransportType])
    func withPinsANegotiationFailsBeforeTheClientSendsAByte(_ transport: HttpTransportType) async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.tls = Self.pins
            options.transport = transport
            options.accessTokenFactory = { "hidden" }
            let connection = HubConnectionBuilder().withUrl(url: server.url, options: options).build()
            // The policy shows that the client does not try again.
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.start(retrying: .forever)
            }
            #expect(error?.code == .pinsUnchecked)
            #expect(error?.message.contains("tls.pins cannot be checked for '\(server.url)/negotiate'") == true)
            #expect(error?.message.contains("Set skipNegotiation and the transport .webSockets") == true)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func withPinsTheEventStreamFailsEvenIfTheAppNegotiates() async throws {
        try await withServer { server in
            let answer = """
                {"connectionId":"x","negotiateVersion":1,"connectionToken":"t","availableTransports":\
                [{"transport":"ServerSentEvents","transferFormats":["Text"]}]}
                """
            let (error, _) = await start(server.url, [answer]) { options in
                options.tls = Self.pins
                options.transport = .serverSentEvents
            }
            let failure = try #require(error as? SignalRClientError)
            #expect(failure.code == .allTransportsFailed)
            #expect(failure.message.contains("ServerSentEvents: pinsUnchecked: Request failed: tls.pins"))
            #expect(server.requests.isEmpty)
        }
    }

    @Test func withPinsAWebSocketWithoutNegotiationConnects() async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.tls = Self.pins
            options.skipNegotiation = true
            options.transport = .webSockets
            let connection = HubConnectionBuilder().withUrl(url: server.url, options: options).build()
            try await connection.start()
            await connection.stop()
        }
    }
}
