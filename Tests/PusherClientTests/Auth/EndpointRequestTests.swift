import RealtimeHTTP
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Requests to an authorization endpoint", .limited)
struct EndpointRequestTests {
    static let url = "https://example.com/pusher/auth"
    let requester = FakeRequester()

    @Test("the client sends the form with exactly the bytes that the protocol requires")
    func form() async {
        _ = await AuthMethod.endpoint(authEndpoint: Self.url).authorize("private-c", in: requester.context())
        var request = HTTPRequest(
            url: Self.url,
            method: "POST",
            headers: ["Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"],
            body: Array("socket_id=1.1&channel_name=private-c".utf8),
            timeout: .seconds(10),
            maximumResponseSize: 1_048_576
        )
        request.isRepeatable = true
        #expect(requester.requests.elements == [request])
    }

    @Test("the client percent-encodes names and values like JavaScript's encodeURIComponent")
    func encoding() async {
        let endpoint = AuthEndpoint(
            Self.url,
            parameters: ["a b&é": "x=y +%", "-_.!~*'()": "Az09", "🚀": "\n\"/?#[]@,;:$"]
        )
        _ = await AuthMethod.endpoint(endpoint).authorize("private-@=,.;_-", in: requester.context())
        #expect(
            requester.bodies == [
                "socket_id=1.1&channel_name=private-%40%3D%2C.%3B_-&a%20b%26%C3%A9=x%3Dy%20%2B%25&-_.!~*'()=Az09"
                    + "&%F0%9F%9A%80=%0A%22%2F%3F%23%5B%5D%40%2C%3B%3A%24"
            ]
        )
    }

    @Test("each request contains the app's headers and parameters in their order")
    func headersAndParameters() async {
        let endpoint = AuthEndpoint(
            Self.url,
            method: "PUT",
            headers: ["X-B": "2", "X-A": "1", "accept": "text/json", "Content-Type": "text/plain"],
            parameters: ["b": "2", "a": "1", "b": "3", "empty": ""],
            timeout: .seconds(3)
        )
        _ = await AuthMethod.endpoint(endpoint).authorize(in: requester.context())
        let request = requester.requests.elements.first
        #expect(request?.headers == ["Content-Type": "text/plain", "X-A": "1", "X-B": "2", "accept": "text/json"])
        #expect(request?.method == "PUT")
        #expect(request?.timeout == .seconds(3))
        #expect(requester.bodies == ["socket_id=1.1&channel_name=private-a&b=2&a=1&b=3&empty="])
    }

    @Test("the client sorts the parameters of a dictionary by name")
    func dictionary() {
        var parameters = AuthEndpoint.Parameters(["b": "2", "a": "1"])
        parameters.append(name: "0", value: "")
        #expect(parameters.elements.map { "\($0.name)=\($0.value)" } == ["a=1", "b=2", "0="])
    }

    @Test("the client calls the providers before each request, and their values replace values with the same name")
    func providers() async {
        let asked = Log<AuthEndpoint.Request>()
        let endpoint = AuthEndpoint(
            Self.url,
            headers: ["authorization": "old", "X-Static": "1"],
            parameters: ["token": "old", "kept": "1", "token": "older"],
            headersProvider: { request in
                asked.append(request)
                return ["Authorization": "new \(asked.count)"]
            },
            parametersProvider: { request in
                asked.append(request)
                return ["token": "new \(asked.count)"]
            }
        )
        for _ in 0..<2 { _ = await AuthMethod.endpoint(endpoint).authorize(in: requester.context()) }
        let request = AuthEndpoint.Request(socketID: "1.1", channelNames: ["private-a"])
        #expect(asked.elements == [request, request, request, request])
        #expect(requester.requests.elements.map { $0.headers["Authorization"] } == ["new 1", "new 3"])
        #expect(requester.requests.elements.map { $0.headers["X-Static"] } == ["1", "1"])
        #expect(
            requester.bodies == [
                "socket_id=1.1&channel_name=private-a&kept=1&token=new%202",
                "socket_id=1.1&channel_name=private-a&kept=1&token=new%204",
            ]
        )
    }

    @Test(
        "a GET request has the form in its query",
        arguments: [
            ("https://example.com/auth", "https://example.com/auth?FORM"),
            ("https://example.com/auth?a=1", "https://example.com/auth?a=1&FORM"),
            ("https://example.com/auth?", "https://example.com/auth?FORM"),
            ("https://example.com/auth?a=1&", "https://example.com/auth?a=1&FORM"),
            ("https://example.com/auth?a=1#part", "https://example.com/auth?a=1&FORM"),
        ]
    )
    func get(url: String, expected: String) async {
        _ = await AuthMethod.endpoint(AuthEndpoint(url, method: "GET")).authorize(in: requester.context())
        let request = requester.requests.elements.first
        let form = "socket_id=1.1&channel_name=private-a"
        #expect(request?.url == expected.replacing("FORM", with: form))
        #expect(request?.body == nil)
        #expect(request?.headers == ["Accept": "application/json"])
    }

    @Test("the app may write the HTTP method in lower case")
    func lowerCase() async {
        for method in ["get", "Get", "post"] {
            _ = await AuthMethod.endpoint(AuthEndpoint(Self.url, method: method)).authorize(in: requester.context())
        }
        let form = "socket_id=1.1&channel_name=private-a"
        #expect(requester.requests.elements.map(\.method) == ["GET", "GET", "POST"])
        #expect(requester.requests.elements.map(\.url) == ["\(Self.url)?\(form)", "\(Self.url)?\(form)", Self.url])
        #expect(requester.bodies == [nil, nil, form])
    }

    @Test(
        "the error for an invalid URL shows the URL without its secrets",
        arguments: [
            "", "/pusher/auth", "example.com/auth", "wss://example.com", "https://", "https://u:geheim@/?a=geheim",
        ]
    )
    func invalidURL(url: String) async {
        for endpoint in [AuthEndpoint(url), AuthEndpoint(url, method: "GET")] {
            let error = await AuthMethod.endpoint(endpoint).authorize(in: requester.context()).error
            #expect(error?.code == .invalidRequest)
            #expect(error?.recovery == AuthorizationError.Recovery.none)
            #expect(error?.message.contains("channel 'private-a'") == true)
            #expect(error?.message.contains("geheim") == false)
        }
        #expect(requester.requests.count == 0)
    }

    @Test("the client does not send header fields that would break the request or the protocol")
    func invalidRequests() async {
        let endpoints = [
            AuthEndpoint(Self.url, method: "PO ST"), AuthEndpoint(Self.url, headers: ["X": "a\r\nSecret: geheim"]),
            AuthEndpoint(Self.url, headers: ["X Y": "geheim"]),
            AuthEndpoint(Self.url, parameters: ["socket_id": "geheim"]),
            AuthEndpoint(Self.url, parameters: ["channel_name": "geheim"]),
            AuthEndpoint(Self.url, parametersProvider: { _ in ["channel_name[]": "geheim"] }),
            AuthEndpoint(Self.url, headersProvider: { _ in ["X": "geheim\n"] }),
        ]
        for endpoint in endpoints {
            let error = await AuthMethod.endpoint(endpoint).authorize(in: requester.context()).error
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("geheim") == false)
        }
        #expect(requester.requests.count == 0)
    }

    @Test("an error that a provider throws becomes the cause of the client's error")
    func throwingProvider() async {
        struct Expired: Error {}
        let unknown = AuthEndpoint(Self.url, headersProvider: { _ in throw Expired() })
        let error = await AuthMethod.endpoint(unknown).authorize(in: requester.context()).error
        #expect(error?.code == .authorizerFailed)
        #expect(error?.cause is Expired)
        #expect(error?.message.contains("the headers provider threw an error of the type 'Expired'") == true)
        let own = AuthorizationError(.refused, "log in first", recovery: .retry(after: .seconds(1)))
        let known = AuthEndpoint(Self.url, parametersProvider: { _ in throw own })
        #expect(await AuthMethod.endpoint(known).authorize(in: requester.context()).error == own)
        #expect(requester.requests.count == 0)
    }

    @Test("a provider that ignores cancellation does not delay the caller")
    func hangingProvider() async {
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let endpoint = AuthEndpoint(
            Self.url,
            headersProvider: { _ in
                start.yield()
                await Task { for await _ in gate {} }.value
                return [:]
            }
        )
        let task = Task { await AuthMethod.endpoint(endpoint).authorize(in: requester.context()) }
        for await _ in started { break }
        task.cancel()
        let error = await task.value.error
        #expect(error?.cause is CancellationError)
        #expect(error?.recovery == AuthorizationError.Recovery.none)
        opening.finish()
        #expect(requester.requests.count == 0)
    }
}
