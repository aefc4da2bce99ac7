import NIOCore
import NIOEmbedded
import TestSupport
import TestTraits
import Testing

@testable import ProxyTestSupport
@testable import PusherTestServer

@Suite("Requests that the proxy forwards", .limited)
struct ProxyForwardingTests {
    /// Sends a request and answers as the origin. Returns the head at the origin, the answer at the client, and the
    /// recorded status.
    private func exchange(
        _ request: (_ port: Int) -> String,
        answer: String
    ) async throws -> (origin: [String], client: String, status: Int?) {
        try await TestProxy.withProxy { proxy in
            try await ByteConnection.withListener { port, origins in
                var incoming = origins.makeAsyncIterator()
                let client = try await ByteConnection.connect(port: proxy.port)
                client.write(request(port))
                let origin = try #require(await incoming.next())
                let head = await origin.readHead()
                origin.write(answer)
                origin.endOutput()
                let text = await client.readText()
                // The proxy closes its connection to the origin after the answer.
                _ = await origin.readToEnd()
                return (head, text, proxy.requests.last?.status)
            }
        }
    }

    @Test("the proxy forwards the authorization request of a client")
    func authorization() async throws {
        var serverOptions = PusherTestServer.Options()
        serverOptions.allowedHosts = ["auth.example.test"]
        try await PusherTestServer.withServer(options: serverOptions) { server in
            var options = TestProxy.Options()
            options.credentials = .init(username: "ada", password: "secret")
            options.hosts["auth.example.test"] = server.host
            try await TestProxy.withProxy(options: options) { proxy in
                let form = "socket_id=1.1&channel_name=private-a"
                for _ in 1...2 {
                    let client = try await ByteConnection.connect(port: proxy.port)
                    client.write(
                        """
                        POST http://auth.example.test:\(server.port)/pusher/auth?x=1 HTTP/1.1\r
                        Host: auth.example.test:\(server.port)\r
                        Proxy-Authorization: Basic YWRhOnNlY3JldA==\r
                        Content-Type: application/x-www-form-urlencoded\r
                        Content-Length: \(form.utf8.count)\r
                        \r
                        \(form)
                        """
                    )
                    let text = await client.readText()
                    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains(#""auth":"app-key:"#))
                }
                let received = try #require(server.authorizationRequests.first)
                #expect(received.path == "/pusher/auth" && received.query == "x=1")
                #expect(received.header("Proxy-Authorization") == nil && received.header("Via") != nil)
                #expect(received.header("Host") == "auth.example.test:\(server.port)")
                #expect(proxy.requests.map(\.method) == ["POST", "POST"])
                #expect(proxy.requests.map(\.host) == ["auth.example.test", "auth.example.test"])
                #expect(proxy.requests.map(\.status) == [200, 200])
                #expect(proxy.openTunnelCount == 0)
            }
        }
    }

    @Test("the proxy does not forward hop-by-hop fields in either direction")
    func hopByHop() async throws {
        let (origin, client, status) = try await exchange(
            { port in
                """
                GET HTTP://127.0.0.1:\(port)?a=b HTTP/1.1\r
                Host: elsewhere\r
                Connection: keep-alive, X-Mine, Host\r
                X-Mine: 1\r
                Proxy-Connection: keep-alive\r
                Proxy-Authorization: Basic eDp5\r
                Upgrade: websocket\r
                Accept: */*\r
                \r

                """
            },
            answer: "HTTP/1.1 203 Fine\r\nConnection: X-Yours\r\nX-Yours: 1\r\nX-All: 2\r\nContent-Length: 2\r\n\r\nok"
        )
        #expect(origin.first == "GET /?a=b HTTP/1.1")
        #expect(
            origin.dropFirst().map { $0.lowercased() }.sorted().filter { !$0.hasPrefix("host") } == [
                "accept: */*", "connection: close", "via: 1.1 testproxy",
            ]
        )
        #expect(origin.contains { $0.lowercased().hasPrefix("host: 127.0.0.1:") })
        #expect(client.hasPrefix("HTTP/1.1 203 ") && client.hasSuffix("\r\n\r\nok") && status == 203)
        #expect(
            client.contains("X-All: 2\r\n") && !client.contains("X-Yours") && client.contains("Connection: close\r\n")
        )
    }

    @Test("the proxy forwards answers in chunks, without a length, without a body, and to HTTP/1.0")
    func framing() async throws {
        let get = { (port: Int) in "GET http://127.0.0.1:\(port)/ HTTP/1.1\r\n\r\n" }
        let closed = try await exchange(get, answer: "HTTP/1.1 200 OK\r\n\r\nabc")
        #expect(closed.client.hasSuffix("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        #expect(try await exchange(get, answer: chunks).client.hasSuffix("\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
        let old = try await exchange({ "GET http://127.0.0.1:\($0)/ HTTP/1.0\r\n\r\n" }, answer: chunks)
        #expect(old.client.hasPrefix("HTTP/1.0 200 ") && old.client.hasSuffix("\r\n\r\nabc"))
        let empty = try await exchange(get, answer: "HTTP/1.1 204 No Content\r\n\r\n")
        #expect(empty.client.hasPrefix("HTTP/1.1 204 ") && empty.client.hasSuffix("\r\n\r\n"))
        let head = try await exchange(
            { "HEAD http://127.0.0.1:\($0)/ HTTP/1.1\r\n\r\n" },
            answer: "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
        )
        #expect(head.client.contains("Content-Length: 7\r\n") && head.client.hasSuffix("\r\n\r\n"))
    }

    @Test("the proxy sends 502 for an invalid answer, and no final chunk for an incomplete body")
    func badOrigins() async throws {
        let get = { (port: Int) in "GET http://127.0.0.1:\(port)/ HTTP/1.1\r\n\r\n" }
        for answer in ["", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-"] {
            let (_, client, status) = try await exchange(get, answer: answer)
            #expect(client.hasPrefix("HTTP/1.1 502 ") && status == 502)
        }
        let cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        let broken = try await exchange(get, answer: cut).client
        #expect(!broken.hasSuffix("0\r\n\r\n"))
    }

    @Test("the proxy forwards large chunked bodies in both directions after 100 Continue")
    func largeBodies() async throws {
        let chunk = String(repeating: "0123456789abcdef", count: 4_096)
        let count = 64
        try await TestProxy.withProxy { proxy in
            try await ByteConnection.withListener { port, origins in
                var incoming = origins.makeAsyncIterator()
                let client = try await ByteConnection.connect(port: proxy.port)
                let fields = "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"
                client.write("POST http://127.0.0.1:\(port)/ HTTP/1.1\r\n\(fields)\r\n")
                #expect(await client.readHead() == ["HTTP/1.1 100 Continue"])
                for _ in 1...count { client.write("10000\r\n\(chunk)\r\n") }
                // Bytes after the end of the request are not part of the request.
                client.write("0\r\n\r\nGET http://127.0.0.1:\(port)/second HTTP/1.1\r\n\r\n")
                let origin = try #require(await incoming.next())
                let head = await origin.readHead()
                #expect(!head.contains { $0.lowercased().hasPrefix("expect") })
                var body = 0
                while body < chunk.utf8.count * count {
                    let line = String(decoding: await origin.readLine(), as: UTF8.self)
                    let length = try #require(Int(line, radix: 16))
                    #expect(await origin.read(length + 2).count == length + 2)
                    body += length
                }
                #expect(await origin.read(5) == Array("0\r\n\r\n".utf8))
                let total = chunk.utf8.count * count
                origin.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
                for _ in 1...count { origin.write(chunk) }
                _ = await client.readHead()
                let answer = await client.readToEnd()
                #expect(answer == Array(String(repeating: chunk, count: count).utf8))
                #expect(await origin.readToEnd() == [])
                #expect(proxy.requests.count == 1)
            }
        }
    }

    @Test(
        "the proxy cancels the request of a client that closes the connection",
        arguments: [
            "GET http://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n",
            "POST http://127.0.0.1:PORT/ HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
        ]
    )
    func clientGone(request: String) async throws {
        try await TestProxy.withProxy { proxy in
            try await ByteConnection.withListener { port, origins in
                var incoming = origins.makeAsyncIterator()
                let client = try await ByteConnection.connect(port: proxy.port)
                client.write(request.replacing("PORT", with: "\(port)"))
                let origin = try #require(await incoming.next())
                _ = await origin.readHead()
                let part = Array(request.hasSuffix("abc") ? "abc".utf8 : "".utf8)
                #expect(await origin.read(part.count) == part)
                client.close()
                #expect(await origin.readToEnd() == [])
                #expect(try await proxy.nextRequest(timeout: .patience).status == nil)
            }
        }
    }

    @Test("the proxy does not read from one side while the other side accepts nothing")
    func backPressure() throws {
        let (first, second) = (EmbeddedChannel(), EmbeddedChannel())
        let reads = ReadCounter()
        let pair = BackPressureHandler.makePair()
        try first.pipeline.syncOperations.addHandlers(reads, pair.0)
        try second.pipeline.syncOperations.addHandler(pair.1)
        try first.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let before = reads.count
        first.read()
        #expect(reads.count == before + 1)
        second.isWritable = false
        second.pipeline.fireChannelWritabilityChanged()
        first.read()
        #expect(reads.count == before + 1)
        second.isWritable = true
        second.pipeline.fireChannelWritabilityChanged()
        #expect(reads.count == before + 2)
        second.isWritable = false
        first.read()
        #expect(reads.count == before + 2)
        // The closed side no longer blocks the other side.
        _ = try second.finish(acceptAlreadyClosed: true)
        second.embeddedEventLoop.run()
        #expect(reads.count == before + 3)
        _ = try first.finish(acceptAlreadyClosed: true)
    }
}

private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var count = 0

    func read(context: ChannelHandlerContext) {
        count += 1
        context.read()
    }
}

extension ByteConnection {
    fileprivate func readLine() async -> [UInt8] {
        var line: [UInt8] = []
        while !line.suffix(2).elementsEqual(Array("\r\n".utf8)) {
            let byte = await read(1)
            if byte.isEmpty { return line }
            line += byte
        }
        return Array(line.dropLast(2))
    }
}
