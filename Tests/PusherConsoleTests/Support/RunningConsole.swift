import ClientTestSupport
import NIOCore
import NIOHTTP1
import PusherClient
import PusherProtocol
import PusherTestServer
import RealtimeHTTP
import SocketTestSupport
import TestSupport
import Testing

@testable import pusher

/// A test server with its console, and methods that make the page's requests.
struct RunningConsole: Sendable {
    let server: PusherTestServer
    let console: Console
    /// The console's URL, with a slash at its end.
    let url: String

    static func run<Result: Sendable>(
        options: PusherTestServer.Options = .init(),
        log: ConsoleLog = ConsoleLog(),
        _ body: @escaping @Sendable (RunningConsole) async throws -> Result
    ) async throws -> Result {
        try await PusherTestServer.withServer(options: options) { server in
            let consoleServer = ConsoleServer(server, log: log)
            let (urls, continuation) = AsyncStream.makeStream(of: String.self)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { continuation.finish() }
                    try await consoleServer.run(port: 0) { url in continuation.yield(url) }
                }
                var iterator = urls.makeAsyncIterator()
                guard let url = await iterator.next() else {
                    try await group.next()
                    throw ConsoleError("The console ended before it was ready.")
                }
                let result = try await body(
                    RunningConsole(server: server, console: consoleServer.console, url: url)
                )
                group.cancelAll()
                return result
            }
        }
    }

    /// The origin in the form that a browser sends.
    var origin: String { String(url.dropLast()) }

    // MARK: Requests

    struct Response: Sendable {
        let status: Int
        let headers: HTTPFields
        let body: String
    }

    func request(
        _ method: HTTPMethod = .GET,
        _ target: String = "",
        headers: HTTPFields = [:],
        body: String? = nil
    ) async throws -> Response {
        let request = HTTPRequest.to(url + target, method: method.rawValue, headers: headers, body: body)
        let response = try await PooledHTTPRequester.ofTests.response(to: request)
        return Response(
            status: response.status,
            headers: response.headers,
            body: String(decoding: response.body, as: UTF8.self)
        )
    }

    /// Returns the token of the page.
    func token() async throws -> String {
        let page = try await request().body
        let start = try #require(page.firstRange(of: #""token":""#)).upperBound
        return String(page[start...].prefix { $0 != "\"" })
    }

    func act(_ action: String) async throws -> Response {
        try await request(
            .POST,
            "actions",
            headers: ["Origin": origin, "X-Console-Token": try await token()],
            body: action
        )
    }

    /// Publishes an event on channel `c`, and returns the status of the answer.
    func publish(_ event: String) async throws -> Int {
        try await act(#"{"action":"publish","event":"\#(event)","channel":"c","data":"{}"}"#).status
    }

    /// Makes a client of the server. The client is not connected yet.
    func client(user: String = "ada") -> Pusher {
        Pusher(
            key: "app-key",
            options: PusherClientOptions(
                authMethod: .endpoint("\(server.url)/pusher/auth", parameters: ["user_id": user]),
                host: .host("127.0.0.1"),
                port: server.port,
                useTLS: false,
                // All tests run at once, so the timeouts allow for a slow machine.
                timeouts: PusherTimeouts(connectionAttempt: .patience, unavailable: .patience, subscription: .patience),
                retryPolicy: .delays([.milliseconds(20)]),
                callbackQueue: .eventLoop
            )
        )
    }

    // MARK: Updates

    /// Returns the page's updates, up to an update that matches. Each update is one JSON object.
    @discardableResult
    func updates(
        from index: Int? = nil,
        lastEventID: Int? = nil,
        until matches: (_ updates: [JSONValue]) throws -> Bool
    ) async throws -> [JSONValue] {
        let target = "\(url)updates?token=\(try await token())&from=\(index ?? 0)"
        var request = HTTPRequest.to(target, method: "GET", body: nil)
        if let lastEventID { request.headers.set("Last-Event-ID", "\(lastEventID)") }
        var (updates, rest): ([JSONValue], [UInt8]) = ([], [])
        for await event in PooledHTTPRequester.ofTests.events(of: request) {
            switch event {
            case .head(let head):
                #expect(head.status == 200)
                #expect(head.headers["Content-Type"] == "text/event-stream; charset=utf-8")
            case .body(let bytes): rest += bytes.readableBytesView
            case .end: break
            case .failed(let error): throw error
            }
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest.removeSubrange(...end)
                guard line.hasPrefix("data: ") else { continue }
                updates.append(try #require(JSONValue(parsing: String(line.dropFirst(6)))))
                if try matches(updates) { return updates }
            }
        }
        throw ConsoleError("The stream ended.")
    }
}

extension [JSONValue] {
    /// The lines of all updates, with the text of the page's columns.
    var lines: [String] {
        flatMap { $0["entries"]?.array ?? [] }.map { entry in
            ["who", "verb", "subject", "channel", "detail"].compactMap { entry[$0]?.string }.filter { !$0.isEmpty }
                .joined(separator: " ")
        }
    }

    /// The newest state.
    var state: JSONValue? { last { $0["state"] != nil }?["state"] }
}
