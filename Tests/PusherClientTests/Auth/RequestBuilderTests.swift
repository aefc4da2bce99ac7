import Foundation
import PusherClient
import RealtimeHTTP
import TestSupport
import TestTraits
import Testing

@Suite("Requests that a request builder makes", .limited)
struct RequestBuilderTests {
    final class Builder: AuthRequestBuilderProtocol {
        let body: @Sendable (String, String) -> URLRequest?

        init(_ body: @escaping @Sendable (String, String) -> URLRequest?) { self.body = body }

        func requestFor(socketID: String, channelName: String) -> URLRequest? { body(socketID, channelName) }
    }

    struct Lazy: AuthRequestBuilderProtocol {}

    let requester = FakeRequester()

    static func method(
        url: String = "https://example.com/auth",
        _ change: @escaping @Sendable (inout URLRequest) -> Void = { _ in }
    ) -> AuthMethod {
        let builder = Builder { socketID, channelName in
            guard let url = URL(string: url) else { return nil }
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.httpBody = Data("socket_id=\(socketID)&channel_name=\(channelName)".utf8)
            change(&request)
            return request
        }
        return .authRequestBuilder(authRequestBuilder: builder)
    }

    @Test("the client sends the builder's method, URL, headers and body unchanged")
    func request() async {
        let method = Self.method { request in
            request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
            request.setValue("text/plain", forHTTPHeaderField: "content-type")
        }
        #expect(await method.authorize(in: requester.context()).value?.auth == "key:signature")
        let request = requester.requests.elements.first
        #expect(request?.url == "https://example.com/auth")
        #expect(request?.method == "POST")
        #expect(request?.headers["Authorization"] == "Bearer x")
        #expect(request?.headers["Content-Type"] == "text/plain")
        #expect(request?.timeout == .seconds(10))
        #expect(requester.bodies == ["socket_id=1.1&channel_name=private-a"])
    }

    @Test("the client sends a body without a content type as a form, and sends no content type without a body")
    func contentType() async {
        _ = await Self.method().authorize(in: requester.context())
        _ = await Self.method { request in
            request.httpMethod = "GET"
            request.httpBody = nil
        }.authorize(in: requester.context())
        let types = requester.requests.elements.map { $0.headers["Content-Type"] }
        #expect(types == ["application/x-www-form-urlencoded", nil])
        #expect(requester.requests.elements.map { $0.body == nil } == [false, true])
        #expect(requester.requests.elements.last?.method == "GET")
    }

    @Test("the client reads a body stream to its end", arguments: [0, 1, 16_384, 100_000, 1_048_576])
    func stream(size: Int) async {
        let method = Self.method { request in
            request.httpBody = nil
            request.httpBodyStream = InputStream(data: Data(repeating: 0x61, count: size))
        }
        _ = await method.authorize(in: requester.context())
        #expect(requester.requests.elements.first?.body == [UInt8](repeating: 0x61, count: size))
    }

    @Test("a body stream that is too long or unreadable causes an error")
    func badStream() async {
        let long = Self.method { request in
            request.httpBodyStream = InputStream(data: Data(count: 1_048_577))
        }
        let error = await long.authorize(in: requester.context()).error
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("more than 1048576 bytes") == true)
        let missing = Self.method { request in
            request.httpBodyStream = InputStream(fileAtPath: "/nowhere/to/be/found")
        }
        #expect(await missing.authorize(in: requester.context()).error?.code == .invalidRequest)
        #expect(requester.requests.count == 0)
    }

    @Test(
        "the client uses the request's timeout unless the timeout has the default value",
        arguments: [(5, 5), (0.25, 0.25), (59, 59), (60, 10), (61, 61), (0, 10), (-1, 10), (1e300, 86_400)]
    )
    func timeout(interval: Double, seconds: Double) async {
        _ = await Self.method { $0.timeoutInterval = interval }.authorize(in: requester.context())
        #expect(requester.requests.elements.first?.timeout == .seconds(seconds))
    }

    @Test("a builder that implements no method, or returns no request, causes an error")
    func nothing() async {
        for builder in [Builder { _, _ in nil }, Lazy()] as [any AuthRequestBuilderProtocol] {
            let method = AuthMethod.authRequestBuilder(authRequestBuilder: builder)
            let error = await method.authorize(in: requester.context()).error
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("the request builder gave nil") == true)
        }
    }

    @Test(
        "the client allows only http and https URLs",
        arguments: ["ftp://example.com/", "file:///etc/passwd", "/auth", "https:///auth"]
    )
    func otherSchemes(url: String) async {
        #expect(await Self.method(url: url).authorize(in: requester.context()).error?.code == .invalidRequest)
        #expect(requester.requests.count == 0)
    }

    @Test("the client calls the builder for each try, so a try after a 401 can use a fresh token")
    func askedAnew() async {
        let refusing = FakeRequester(401, "")
        let asked = Log<String>()
        let method = Self.method { _ in asked.append("") }
        for _ in 0..<3 {
            #expect(await method.authorize(in: refusing.context()).error?.recovery == .askOnceMore)
        }
        #expect(asked.count == 3)
    }

    @Test("a builder that blocks its thread does not delay other builders")
    func blocking() async {
        let semaphore = DispatchSemaphore(value: 0)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let method = Self.method { _ in
            start.yield()
            semaphore.wait()
        }
        let task = Task { await method.authorize(in: requester.context()) }
        for await _ in started { break }
        task.cancel()
        #expect(await task.value.error?.cause is CancellationError)
        semaphore.signal()
        #expect(requester.requests.count == 0)
    }
}
