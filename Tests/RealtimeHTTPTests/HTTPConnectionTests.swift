import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

/// Connections of the client, over real sockets.
@Suite("HTTP connections", .limited)
struct HTTPConnectionTests {
    private let census = ChannelCensus()

    private func requester(
        tls: TLSOptions = TLSOptions(),
        maximumConnections: Int = 16,
        idleTimeout: Duration = .patience
    ) -> PooledHTTPRequester {
        .patient(tls: tls, maximumConnections: maximumConnections, idleTimeout: idleTimeout, census: census)
    }

    private func get(_ port: Int, _ method: String = "GET", _ path: String = "/") -> HTTPRequest {
        .to("http://127.0.0.1:\(port)\(path)", method: method, body: nil)
    }

    private func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

    // MARK: Framing (RFC 9112, section 6)

    private static let ok = "HTTP/1.1 200 OK\r\n"

    @Test(
        "a complete response leaves the connection for the next request, unless one side closes it",
        arguments: [
            ("\(ok)Content-Length: 2\r\n\r\nhi", "hi", 1), ("\(ok)Content-Length: 0\r\n\r\n", "", 1),
            ("\(ok)content-length:2 \r\n\r\nhi", "hi", 1),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "hi", 1),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1;x=\"y\"\r\ni\r\n000\r\n\r\n", "hi", 1),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nTrailer: a\r\nX: b\r\n\r\n", "hi", 1),
            ("HTTP/1.1 204 No Content\r\n\r\n", "", 1),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "", 1),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nLink: a\r\n\r\n\(ok)Content-Length: 2\r\n\r\nhi", "hi", 1),
            ("\(ok)Content-Length: 2\r\nConnection: close\r\n\r\nhi", "hi", 2),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", 2),
            ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", "hi", 1),
        ]
    )
    func complete(answer: String, body: String, connections: Int) async throws {
        let requester = requester()
        try await withScriptedServer { peer in
            while await !peer.readUpgrade().isEmpty { try await peer.write(answer) }
        } _: { port in
            for _ in 1...2 {
                let response = try await requester.response(to: get(port))
                #expect(text(response) == body)
            }
            #expect(census.opened == connections)
            requester.shutdown()
            await waitUntil { census.open == 0 }
        }
    }

    @Test(
        "a truncated or impossible response is an error",
        arguments: [
            ("", "the connection was lost before the answer arrived"),
            ("HTTP/1.1 200", "the server ended the response early"),
            ("\(ok)A: b", "the server ended the response early"),
            ("\(ok)Content-Length: 3\r\n\r\nhi", "the server ended the response early"),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\n3\r\nhi", "the server ended the response early"),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", "the server ended the response early"),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", "the server ended the response early"),
            ("HTTP/1.1 100 Continue\r\n\r\n", "the connection was lost before the answer arrived"),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\nx\r\nhi", "the server's answer is not HTTP"),
            ("\(ok)Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi", "the server's answer is not HTTP"),
            ("\(ok)Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n", "the server's answer is not HTTP"),
            ("\(ok)Content-Length: -1\r\n\r\nhi", "the server's answer is not HTTP"),
            ("\(ok)Content-Length: 99999999999999999999\r\n\r\nhi", "the server's answer is not HTTP"),
            ("SSH-2.0-OpenSSH_9.2\r\n", "the server's answer is not HTTP"),
        ]
    )
    func broken(answer: String, message: String) async throws {
        let requester = requester()
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write(answer)
        } _: { port in
            #expect(await requester.failure(get(port))?.message == message)
            #expect(await requester.streamed(get(port)).error?.message == message)
            await waitUntil { census.open == 0 }
        }
    }

    @Test(
        "a body without a length ends with the connection, and over TLS only with the end of TLS",
        arguments: [true, false]
    )
    func untilClose(isClean: Bool) async throws {
        let certificates = TestCertificates()
        try await withScriptedServer(tls: try certificates.serverContext) { peer in
            _ = await peer.readUpgrade()
            try await peer.write("\(Self.ok)\r\nuntil close")
            if !isClean { try await peer.reset() }
        } _: { port in
            let requester = requester(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
            let response = await requester.streamed(.to("https://localhost:\(port)/", method: "GET", body: nil))
            #expect(response.body == "until close")
            #expect(response.error?.message == (isClean ? nil : "the server ended the response early"))
            await waitUntil { census.open == 0 }
        }
    }

    @Test("the response to a HEAD has no body")
    func head() async throws {
        let requester = requester()
        try await withScriptedServer { peer in
            while await !peer.readUpgrade().isEmpty { try await peer.write("\(Self.ok)Content-Length: 5\r\n\r\n") }
        } _: { port in
            for _ in 1...2 {
                let response = try await requester.response(to: get(port, "HEAD"))
                #expect(response.headers["Content-Length"] == "5" && response.body.isEmpty)
            }
            #expect(census.opened == 1)
            requester.shutdown()
        }
    }

    @Test("a response that arrives byte by byte is the same response")
    func bytes() async throws {
        let answer = "HTTP/1.1 103 X\r\n\r\n\(Self.ok)Transfer-Encoding: chunked\r\n\r\n2;a\r\nhi\r\n0\r\nT: a\r\n\r\n"
        let requester = requester()
        try await withScriptedServer { peer in
            while await !peer.readUpgrade().isEmpty {
                for byte in answer.utf8 { try await peer.write([byte]) }
            }
        } _: { port in
            for _ in 1...2 {
                let response = try await requester.response(to: get(port))
                #expect(text(response) == "hi")
            }
            #expect(census.opened == 1)
            requester.shutdown()
        }
    }

    @Test(
        "a head, trailers and chunk extensions without end are errors",
        arguments: [
            ("", "HTTP/1.1 103 X\r\nLink: a\r\n\r\n"), (ok, "X: y\r\n"), (ok, "X:\r\n"), ("\(ok)X: ", "yyyyyyyy"),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"),
            ("\(ok)Transfer-Encoding: chunked\r\n\r\n2;a=", "xxxxxxxx"),
        ]
    )
    func endlessHead(start: String, rest: String) async throws {
        let requester = requester()
        let rests = String(repeating: rest, count: 1_000)
        let isRead = Log<Bool>()
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write(start)
            // If the client does not end the connection, the script ends, and the error is another one.
            for _ in 0..<5_000 { try await peer.write(rests) }
            isRead.append(true)
        } _: { port in
            let error = await requester.failure(get(port))
            #expect(error?.kind == .failed && error?.message == "the head of the server's answer is too long")
            await waitUntil { census.open == 0 }
        }
        #expect(isRead.count == 0)
    }

    @Test("an answer that comes before the server has read a large body is the answer")
    func earlyAnswer() async throws {
        let requester = requester()
        try await withScriptedServer { peer in
            try await peer.setReading(false)
            try await peer.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            try await peer.setReading(true)
            await peer.readToEnd()
        } _: { port in
            let body = String(repeating: "x", count: 16 << 20)
            let response = try await requester.response(to: .to("http://127.0.0.1:\(port)/", body: body))
            #expect(response.status == 413 && text(response) == "no")
            // The server has not read the whole request, so the connection cannot get another request.
            await waitUntil { census.open == 0 }
        }
    }

    @Test("a request never determines its own framing")
    func smuggling() async throws {
        let requester = requester()
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            let headers: HTTPFields = ["Transfer-Encoding": "chunked", "Content-Length": "1"]
            _ = try await requester.response(to: .to(server.url, headers: headers, body: "abc"))
            #expect(server.requests.first?.headers["Content-Length"] == ["3"])
            #expect(server.requests.first?.headers["Transfer-Encoding"] == [])
            #expect(server.requests.first?.body == "abc")
        }
    }

    // MARK: Kept connections

    @Test(
        "bytes after a response never become the answer to the next request",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nev",
            "evil",
            // The decoder would keep these, and the next response would be the rest of them.
            "H", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nX:", "HTTP/1.1 200 OK\r\nX: y\r\n", "HTTP/1.1 103 X\r\nX:",
        ]
    )
    func unsolicited(rest: String) async throws {
        // The second request waits for the connection of the first one.
        let requester = requester(maximumConnections: 1)
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write("\(Self.ok)Content-Length: 2\r\n\r\nhi\(rest)")
            await peer.readToEnd()
        } _: { port in
            async let first = requester.response(to: get(port))
            async let second = requester.response(to: get(port))
            let responses = try await [first, second]
            #expect(responses.map { text($0) } == ["hi", "hi"])
            #expect(responses.map(\.headers) == [["Content-Length": "2"], ["Content-Length": "2"]])
            #expect(census.opened == 2)
            requester.shutdown()
            await waitUntil { census.open == 0 }
        }
    }

    @Test(
        "an unused connection closes when bytes arrive, when the server closes it, and when the server resets it",
        arguments: [true, false]
    )
    func disturbed(usesTLS: Bool) async throws {
        let certificates = TestCertificates()
        for end in ["bytes", "close", "reset"] {
            let requester = requester(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
            let (idle, continuation) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer(tls: usesTLS ? try certificates.serverContext : nil) { peer in
                _ = await peer.readUpgrade()
                try await peer.write("\(Self.ok)Content-Length: 0\r\n\r\n")
                for await _ in idle.prefix(1) {}
                switch end {
                case "bytes": try await peer.write("H")
                case "reset": try await peer.reset()
                // Over TLS, this sends close_notify, and waits for the client's.
                default: return
                }
                await peer.readToEnd()
            } _: { port in
                let url = "\(usesTLS ? "https" : "http")://localhost:\(port)/"
                _ = try await requester.response(to: .to(url, method: "GET", body: nil))
                continuation.yield()
                await waitUntil { census.open == 0 }
            }
        }
    }

    @Test("an unused connection closes after its time, and over TLS with the end of TLS", arguments: [true, false])
    func idle(usesTLS: Bool) async throws {
        let certificates = TestCertificates()
        let closed = Log<String>()
        try await withScriptedServer(tls: usesTLS ? try certificates.serverContext : nil) { peer in
            _ = await peer.readUpgrade()
            try await peer.write("\(Self.ok)Content-Length: 0\r\n\r\n")
            await peer.readToEnd()
            closed.append(peer.hasFailed ? "failed" : "closed")
        } _: { port in
            let tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM))
            let requester = requester(tls: tls, idleTimeout: .milliseconds(1))
            let url = "\(usesTLS ? "https" : "http")://localhost:\(port)/"
            _ = try await requester.response(to: .to(url, method: "GET", body: nil))
            await waitUntil { census.open == 0 && closed.count == 1 }
        }
        #expect(closed.elements == ["closed"])
    }

    @Test(
        "a connection is not used after the time for which the server keeps it",
        arguments: [("timeout=1", 2), ("timeout=0, max=5", 2), ("max=5, timeout=60", 1), ("timeout=x", 1)]
    )
    func idleTimeOfTheServer(field: String, connectionCount: Int) async throws {
        let requester = requester()
        try await HTTPTestServer.serving({ _ in .answer(200, ["Keep-Alive": field]) }) { server in
            for _ in 1...2 {
                let status = try await requester.status(.to(server.url, method: "POST", body: nil))
                #expect(status == 200)
            }
            #expect(server.connectionCount == connectionCount)
        }
        requester.shutdown()
    }

    @Test(
        "a request is repeated once if a kept connection dies before its answer, and if it may be repeated",
        arguments: [("GET", nil, true), ("POST", nil, false), ("POST", true, true), ("GET", false, false)]
            as [(String, Bool?, Bool)]
    )
    func repeated(method: String, isRepeatable: Bool?, isRepeated: Bool) async throws {
        let requester = requester()
        let requests = Log<Int>()
        let count = NIOLockedValueBox(0)
        try await withScriptedServer { peer in
            let number = count.withLockedValue { count in
                count += 1
                return count
            }
            while await !peer.readUpgrade().isEmpty {
                requests.append(number)
                // The server closes the first connection instead of answering its second request.
                if number == 1, requests.count == 2 { return }
                try await peer.write("\(Self.ok)Content-Length: 0\r\n\r\n")
            }
        } _: { port in
            var request = get(port, method)
            request.isRepeatable = isRepeatable
            let status = try await requester.status(request)
            #expect(status == 200)
            let error = await requester.failure(request)
            #expect((error == nil) == isRepeated)
            if !isRepeated {
                #expect(error?.message == "the kept connection was lost before the answer arrived")
                // The server has answered before, so it does not expect TLS.
                #expect(error?.adviceAboutTLS(for: request.url) == "")
            }
            #expect(requests.elements == (isRepeated ? [1, 1, 2] : [1, 1]))
            requester.shutdown()
            await waitUntil { census.open == 0 }
        }
    }

    @Test("a request on a new connection, and a request with a part of an answer, are not repeated")
    func notRepeated() async throws {
        let requester = requester()
        let requests = Log<String>()
        try await withScriptedServer { peer in
            while true {
                let request = await peer.readUpgrade()
                if request.isEmpty { return }
                requests.append(request)
                switch requests.count {
                case 1: return
                case 2: try await peer.write("\(Self.ok)Content-Length: 0\r\n\r\n")
                default: return try await peer.write("\(Self.ok)Content-Length: 2\r\n\r\nh")
                }
            }
        } _: { port in
            #expect(await requester.failure(get(port)) != nil)
            let status = try await requester.status(get(port))
            #expect(status == 200)
            #expect(await requester.failure(get(port))?.message == "the server ended the response early")
            #expect(requests.count == 3)
            await waitUntil { census.open == 0 }
        }
    }

    @Test("a redirect within the server keeps its connection")
    func redirected() async throws {
        let requester = requester()
        try await HTTPTestServer.serving { request in
            request.uri == "/new" ? .answer(200) : .redirect(307, "/new")
        } _: { server in
            for _ in 1...2 {
                let status = try await requester.status(.to(server.url + "/old"))
                #expect(status == 200)
            }
            #expect(census.opened == 1)
            requester.shutdown()
        }
    }

    @Test("a redirect of a HEAD is followed at its end", arguments: ["", "Content-Length: 99999\r\n"])
    func redirectedHead(field: String) async throws {
        let requester = requester()
        try await withScriptedServer { peer in
            while true {
                let request = await peer.readUpgrade()
                if request.isEmpty { return }
                let start = request.hasPrefix("HEAD /old") ? "HTTP/1.1 307 Moved\r\nLocation: /new\r\n" : Self.ok
                try await peer.write("\(start)\(field)\r\n")
            }
        } _: { port in
            let response = try await requester.response(to: get(port, "HEAD", "/old"))
            #expect(response.status == 200 && response.body.isEmpty)
            // Without a length, NIO says that the answer ends with the connection.
            #expect(census.opened == (field.isEmpty ? 2 : 1))
            requester.shutdown()
        }
    }

    @Test("a request that finds all connections in use waits, and fails at the time limit for connecting")
    func limited() async throws {
        let requester = PooledHTTPRequester(
            tls: TLSContextSource(TLSOptions()),
            maximumConnections: 1,
            connectTimeout: .milliseconds(200)
        )
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { server in
            let first = Task { await requester.failure(.to(server.url)) }
            _ = await server.nextRequest()
            let error = await requester.failure(.to(server.url))
            #expect(error?.kind == .timedOut && error?.isUnsent == true)
            #expect(error?.message == "no connection was made in time")
            #expect(server.connectionCount == 1)
            requester.shutdown()
            #expect(await first.value?.kind == .shutDown)
        }
    }

    // MARK: Back-pressure

    @Test("while a stream does not read, the server cannot send more than the buffers hold", arguments: [true, false])
    func backPressure(usesTLS: Bool) async throws {
        let certificates = TestCertificates()
        let chunk = [UInt8](repeating: 0x78, count: 1 << 20)
        let (total, sent) = (256, NIOLockedValueBox(0))
        try await withScriptedServer(tls: usesTLS ? try certificates.serverContext : nil) { peer in
            _ = await peer.readUpgrade()
            try await peer.write("\(Self.ok)Content-Length: \(total << 20)\r\n\r\n")
            for _ in 0..<total {
                try await peer.write(chunk)
                sent.withLockedValue { $0 += 1 }
            }
            await peer.readToEnd()
        } _: { port in
            let requester = requester(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            let received = NIOLockedValueBox(0)
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            let (heads, head) = AsyncStream.makeStream(of: Void.self)
            let stream = NIOLoopBoundBox<(any HTTPStream)?>.makeEmptyBox(
                valueType: (any HTTPStream).self,
                eventLoop: eventLoop
            )
            let url = "\(usesTLS ? "https" : "http")://localhost:\(port)/"
            eventLoop.execute {
                let redirects = HTTPStreamRedirects(maximum: 0, leavesTLS: false)
                let request = HTTPRequest.to(url, method: "GET", body: nil)
                stream.value = requester.stream(request, redirects: redirects, on: eventLoop) { event in
                    switch event {
                    case .head:
                        stream.value?.setReading(false)
                        head.yield()
                    case .body(let bytes): received.withLockedValue { $0 += bytes.readableBytes }
                    case .end, .failed:
                        stream.value = nil
                        end.finish()
                    }
                }
            }
            for await _ in heads.prefix(1) {}
            // The server fills the buffers of the system. Then it makes no progress any more.
            var last = -1
            while true {
                let now = sent.withLockedValue { $0 }
                if now == last { break }
                last = now
                for _ in 0..<2_000 { try await eventLoop.submit {}.get() }
            }
            #expect(last < total / 4)
            #expect(received.withLockedValue { $0 } < 2 << 20)
            eventLoop.execute { stream.value?.setReading(true) }
            for await _ in ends {}
            #expect(received.withLockedValue { $0 } == total << 20)
            await waitUntil { census.open == 0 }
        }
    }
}
