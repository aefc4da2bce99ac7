import NIOCore
import NIOEmbedded
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Requests that are too long or never complete", .limited)
struct RequestLimitTests {
    private static let form = "socket_id=1.1&channel_name=private-x"

    private static func post(
        _ fields: String = "",
        body: String = form,
        path: String = "/pusher/auth",
        length: Int? = nil
    ) -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Length: \(length ?? body.utf8.count)\r\n\r\n\(body)"
    }

    static let upgrade =
        "GET /app/app-key HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    // MARK: Time

    @Test("the server answers an incomplete head with 408 after 30 s, even if a header arrives each second")
    func endlessHead() throws {
        let client = try EmbeddedConnection()
        client.advance(by: .seconds(5))
        try client.send("POST /pusher/auth HTTP/1.1\r\n")
        for second in 1...29 {
            client.advance(by: .seconds(1))
            try client.send("X-\(second): y\r\n")
        }
        client.advance(by: .milliseconds(999))
        #expect(client.isOpen)
        #expect(try client.received().isEmpty)
        client.advance(by: .milliseconds(1))
        let answer = try client.received()
        #expect(answer.hasPrefix("HTTP/1.1 408 Request Timeout\r\n") && answer.contains("Connection: close\r\n"))
        #expect(!client.isOpen)
    }

    @Test("the time limit of a request begins with the request's first byte")
    func oneByte() throws {
        let client = try EmbeddedConnection()
        try client.send("P")
        client.advance(by: .seconds(30))
        #expect(try client.statuses() == [408])
        #expect(!client.isOpen)
    }

    @Test("head and body share one time limit, and the server records the answer 408")
    func halfABody() throws {
        let client = try EmbeddedConnection()
        try client.send("POST /pusher/auth HTTP/1.1\r\n")
        client.advance(by: .seconds(20))
        try client.send("Host: localhost\r\nContent-Length: 10\r\n\r\n")
        client.advance(by: .seconds(9))
        try client.send("12345")
        #expect(client.isOpen)
        client.advance(by: .seconds(1))
        #expect(try client.statuses() == [408])
        #expect(!client.isOpen)
        let request = Request(
            method: "POST",
            target: "/pusher/auth",
            headers: ["Host": "localhost", "Content-Length": "10"],
            body: Array("12345".utf8)
        )
        #expect(client.server.records.map(\.event) == [.requestAnswered(request, status: 408)])
    }

    @Test("an option sets the time limit")
    func timeOption() throws {
        let client = try EmbeddedConnection { $0.requestTimeout = .seconds(2) }
        try client.send("GET / HT")
        client.advance(by: .milliseconds(1_999))
        #expect(client.isOpen)
        client.advance(by: .milliseconds(1))
        #expect(try client.received().contains("the request was not complete within 2 s"))
        #expect(!client.isOpen)
    }

    @Test("an open connection may be idle without limit before and after each request")
    func idleConnection() throws {
        let client = try EmbeddedConnection()
        for _ in 1...3 {
            client.advance(by: .hours(1))
            #expect(client.isOpen)
            try client.send(Self.post())
            #expect(try client.statuses() == [200])
        }
        client.advance(by: .hours(1))
        #expect(client.isOpen)
        #expect(try client.received().isEmpty)
    }

    @Test("each request has its own time limit")
    func secondRequest() throws {
        let client = try EmbeddedConnection()
        for part in [Self.post().prefix(20), Self.post().dropFirst(20), Self.post().prefix(90)] {
            try client.send(String(part))
            client.advance(by: .seconds(20))
        }
        #expect(try client.statuses() == [200])
        client.advance(by: .seconds(10))
        #expect(try client.statuses() == [408])
        #expect(!client.isOpen)
    }

    @Test(
        "a request that begins in the last packet of another request has its own time limit",
        arguments: [1, 3, 40]
    )
    func secondRequestInOnePacket(length: Int) throws {
        let client = try EmbeddedConnection()
        try client.send(String(Self.post().dropLast()))
        client.advance(by: .seconds(29))
        try client.send(String(Self.post().suffix(1) + Self.post() + Self.post().prefix(length)))
        #expect(try client.statuses() == [200, 200])
        client.advance(by: .seconds(29))
        #expect(client.isOpen)
        client.advance(by: .seconds(1))
        #expect(try client.statuses() == [408])
        #expect(!client.isOpen)
    }

    @Test("an answer may take longer than the time limit of requests")
    func lateAnswer() throws {
        let client = try EmbeddedConnection()
        client.server.failAuthorizations(1, with: .delayed(.seconds(100)))
        try client.send(Self.post())
        client.advance(by: .seconds(99))
        #expect(client.isOpen)
        client.advance(by: .seconds(1))
        #expect(try client.statuses() == [200])
        client.server.failAuthorizations(1, with: .unanswered)
        try client.send(Self.post())
        client.advance(by: .hours(1))
        #expect(client.isOpen)
        #expect(try client.received().isEmpty)
    }

    @Test("a WebSocket has no time limit, even if half of its first frame arrives with the upgrade")
    func webSocket() throws {
        let frames: [[UInt8]] = [[], SocketClient.frame(0x89, [1]), Array(SocketClient.frame(0x89, [1]).prefix(3))]
        for frame in frames {
            let client = try EmbeddedConnection()
            try client.channel.writeInbound(ByteBuffer(bytes: Array(Self.upgrade.utf8) + frame))
            client.advance(by: .hours(1))
            #expect(client.isOpen)
            #expect(client.server.connections.map(\.isEstablished) == [true])
            try client.channel.writeInbound(
                ByteBuffer(bytes: SocketClient.frame(0x89, [1]).suffix(7 - frame.count % 7))
            )
            #expect(client.server.records.contains { $0.event == .pingReceived([1]) })
        }
    }

    @Test("a stalled upgrade has no time limit, even if bytes follow it")
    func stalledUpgrade() throws {
        let client = try EmbeddedConnection()
        client.server.failConnections(1, with: .stalled)
        try client.send(Self.upgrade + "x")
        try client.send("yz")
        client.advance(by: .hours(1))
        #expect(client.isOpen)
        #expect(try client.received().isEmpty)
    }

    @Test("a connection that ends during a request or after an upgrade leaves no state behind")
    func leavesNothing() throws {
        for bytes in ["GET", Self.post() + "P", Self.post(length: 100), Self.post(length: 1 << 30), Self.upgrade] {
            let client = try EmbeddedConnection()
            try client.send(bytes)
            #expect(client.handler != nil || bytes == Self.upgrade)
            client.channel.close(promise: nil)
            client.channel.embeddedEventLoop.run()
            #expect(client.handler == nil, "after \(bytes)")
            #expect(try client.statuses().allSatisfy { [101, 200, 413].contains($0) })
        }
    }

    // MARK: Length

    @Test("the server rejects a long body by its Content-Length before it reads the body", arguments: [1_001, 1 << 40])
    func contentLength(length: Int) throws {
        let client = try EmbeddedConnection { $0.maximumRequestSize = 1_000 }
        try client.send(Self.post(body: "", length: length))
        let answer = try client.received()
        #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("Connection: close\r\n"))
        #expect(answer.hasSuffix("the body exceeds the allowed maximum (1000 bytes)"))
        #expect(client.server.authorizationRequests.isEmpty)
        guard case .requestAnswered(let request, 413) = client.server.records.last?.event else {
            Issue.record("not recorded")
            return
        }
        #expect(request.path == "/pusher/auth" && request.body.isEmpty)
    }

    @Test(
        "the server rejects a length beyond 64 bits",
        arguments: ["18446744073709551615", "18446744073709551616", "-1"]
    )
    func hugeContentLength(length: String) throws {
        let client = try EmbeddedConnection()
        try client.send("POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n")
        #expect(try client.statuses().first.map { [400, 413].contains($0) } == true)
    }

    @Test("the server rejects a chunked body as soon as it is too long")
    func chunks() throws {
        let client = try EmbeddedConnection { $0.maximumRequestSize = 1_000 }
        try client.send("POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "1f4\r\n\(String(repeating: "x", count: 500))\r\n"
        for _ in 1...2 { try client.send(chunk) }
        #expect(try client.received().isEmpty)
        try client.send("1\r\nx")
        #expect(try client.statuses() == [413])
        #expect(client.server.authorizationRequests.isEmpty)
    }

    @Test(
        "the server accepts a body of the maximum length, with a Content-Length and in chunks",
        arguments: [true, false]
    )
    func longestBody(isChunked: Bool) throws {
        let body = Self.form + "&x=" + String(repeating: "y", count: 961)
        let client = try EmbeddedConnection { $0.maximumRequestSize = 1_000 }
        #expect(body.utf8.count == 1_000)
        if isChunked {
            let head = "POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            try client.send(head + "3e8\r\n\(body)\r\n0\r\n\r\n")
        } else {
            try client.send(Self.post(body: body))
        }
        #expect(try client.statuses() == [200])
        #expect(client.server.authorizationRequests.map(\.bodyText) == [body])
    }

    @Test("the server drops the rest of a rejected request, so that the client gets the answer")
    func rest() throws {
        let client = try EmbeddedConnection { $0.maximumRequestSize = 10 }
        try client.send(Self.post(body: "", length: 100))
        #expect(try client.statuses() == [413])
        for _ in 1...9 { try client.send("0123456789") }
        #expect(client.isOpen)
        try client.send("0123456789" + Self.post(body: "x"))
        #expect(!client.isOpen)
        #expect(try client.received().isEmpty)
    }

    @Test("a rejected request has the same time limit as other requests")
    func timeOfTheRest() throws {
        let client = try EmbeddedConnection { $0.maximumRequestSize = 10 }
        try client.send(Self.post(body: "", length: 100))
        #expect(try client.statuses() == [413])
        client.advance(by: .seconds(29))
        try client.send("0123456789")
        #expect(client.isOpen)
        client.advance(by: .seconds(1))
        #expect(!client.isOpen)
        #expect(try client.received().isEmpty)
    }

    @Test("the server sends no second answer to invalid bytes in a rejected request")
    func garbage() throws {
        let client = try EmbeddedConnection { $0.maximumRequestSize = 1 }
        try client.send(
            "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxx\r\nno length\r\n"
        )
        try client.send("more")
        #expect(try client.statuses() == [413])
        #expect(client.isOpen)
        client.advance(by: .seconds(30))
        #expect(!client.isOpen)
        #expect(try client.received().isEmpty)
    }

    // MARK: 100 Continue

    private static let expect = "Expect: 100-Continue\r\n"

    @Test("a client that expects 100 Continue gets it, and then the answer")
    func continues() throws {
        for head in [
            "Content-Length: \(Self.form.utf8.count)\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n",
        ] {
            let client = try EmbeddedConnection()
            try client.send("POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\n\(Self.expect)\(head)")
            #expect(try client.received() == "HTTP/1.1 100 Continue\r\n\r\n")
            try client.send(head.hasPrefix("T") ? "24\r\n\(Self.form)\r\n0\r\n\r\n" : Self.form)
            #expect(try client.statuses() == [200])
            #expect(client.isOpen)
        }
    }

    @Test("a request to the REST API gets 100 Continue if the signature of its head is valid")
    func continuesREST() throws {
        let client = try EmbeddedConnection()
        let event = #"{"name":"e","channel":"a","data":"{}"}"#
        let signed = SignedRESTRequest(
            method: "POST",
            path: "/apps/1/events",
            body: event,
            application: client.server.options.application,
            timestamp: 1_700_000_000
        )
        try client.send(Self.post(Self.expect, body: "", path: signed.pathAndQuery, length: event.utf8.count))
        #expect(try client.received() == "HTTP/1.1 100 Continue\r\n\r\n")
        try client.send(event)
        #expect(try client.statuses() == [200])
    }

    @Test(
        "a request with an invalid head gets its answer at once instead of 100 Continue",
        arguments: [
            ("/pusher/auth", 1 << 30, 413), ("/nothing", 5, 404), ("/apps/2/events", 5, 404),
            ("/apps/1/events", 5, 401),
            ("/apps/1/events?auth_key=app-key&auth_version=1.0&auth_timestamp=1700000000&auth_signature=x", 5, 401),
        ]
    )
    func refusedBeforeTheBody(path: String, length: Int, status: Int) throws {
        let client = try EmbeddedConnection()
        try client.send(Self.post(Self.expect, body: "", path: path, length: length))
        let answer = try client.received()
        #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("Connection: close\r\n"))
        client.advance(by: .seconds(30))
        #expect(!client.isOpen)
    }

    @Test("the server rejects an unknown method before it reads the body")
    func refusedMethod() throws {
        let client = try EmbeddedConnection()
        try client.send("PUT /pusher/auth HTTP/1.1\r\nHost: localhost\r\n\(Self.expect)Content-Length: 1\r\n\r\n")
        #expect(try client.statuses() == [405])
    }

    @Test("the server sends 100 Continue only for an HTTP/1.1 request with a body and `Expect: 100-continue`")
    func noContinue() throws {
        let body = "Content-Length: \(Self.form.utf8.count)\r\n"
        for head in [
            "POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\n\(body)\r\n",
            "POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\(body)\r\n",
            "POST /pusher/auth HTTP/1.0\r\n\(Self.expect)\(body)\r\n",
            "GET /pusher/auth?\(Self.form) HTTP/1.1\r\nHost: localhost\r\n\(Self.expect)Content-Length: 0\r\n",
            "GET /pusher/auth?\(Self.form) HTTP/1.1\r\nHost: localhost\r\n\(Self.expect)",
        ] {
            let client = try EmbeddedConnection()
            try client.send(head)
            #expect(try client.received().isEmpty)
            try client.send(head.hasPrefix("POST") ? Self.form : "\r\n")
            #expect(try client.statuses() == [200])
        }
    }

    @Test("the server reads nothing after the last request of a connection")
    func lastRequest() throws {
        let client = try EmbeddedConnection()
        client.server.failAuthorizations(1, with: .delayed(.seconds(40)))
        try client.send(Self.post("Connection: close\r\n") + Self.post() + "x")
        client.advance(by: .seconds(39))
        #expect(try client.received().isEmpty)
        #expect(client.isOpen)
        client.advance(by: .seconds(1))
        #expect(try client.statuses() == [200])
        #expect(!client.isOpen)
    }

    // MARK: On sockets

    @Test("on a socket, the client gets 408, and then the server closes the connection")
    func onSocket() async throws {
        var options = Options()
        options.requestTimeout = .milliseconds(50)
        try await PusherTestServer.withServer(options: options) { server in
            let client = try await ByteConnection.connect(port: server.port)
            client.write("POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\n")
            #expect(await client.readText().hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
            let silent = try await ByteConnection.connect(port: server.port)
            silent.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(await silent.readHead().first == "HTTP/1.1 404 Not Found")
            silent.close()
        }
    }

    @Test("on a socket, a client that sends too much gets 413 and no reset")
    func tooMuchOnSocket() async throws {
        var options = Options()
        options.maximumRequestSize = 1_000
        options.requestTimeout = .patience
        try await PusherTestServer.withServer(options: options) { server in
            let client = try await ByteConnection.connect(port: server.port)
            client.write(Self.post(body: String(repeating: "x", count: 4 << 20)))
            #expect(await client.readText().hasPrefix("HTTP/1.1 413 "))
            #expect(!client.isReset)
        }
    }
}
