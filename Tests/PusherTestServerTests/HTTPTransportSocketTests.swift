import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PusherProtocol
import RealtimeHTTP
import RealtimeJSON
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("HTTP transports on real sockets", .limited)
struct HTTPTransportSocketTests {
    private static let session = TransportWorld.session

    private static func receive(_ path: String, _ session: String = session, version: String = "1.1") -> String {
        // On Node.js, pusher-js makes this request.
        "POST \(session)/\(path)?protocol=7&client=js&version=8.6.0&t=1700000000000&n=1 HTTP/\(version)\r\n"
            + "Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    }

    private static func send(_ body: String, _ session: String = session, fields: String = "Connection: close\r\n")
        -> String
    {
        "POST \(session)/xhr_send?t=1700000000000&n=2 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    private func withServer(
        _ change: (inout Options) -> Void = { _ in },
        _ body: (PusherTestServer) async throws -> Void
    ) async throws {
        var options = Options()
        options.socketIDPrefix = 7
        options.httpTransports.sendsPrelude = false
        // A busy machine can take longer than the default between two requests of a session.
        options.httpTransports.disconnectDelay = .patience
        change(&options)
        try await PusherTestServer.withServer(options: options, body)
    }

    /// Makes a request on a new connection, and returns the answer.
    private func answer(_ request: String, from server: PusherTestServer) async throws -> (head: [String], body: String)
    {
        let client = try await ByteConnection.connect(port: server.port)
        client.write(request)
        let head = await client.readHead()
        return (head, await client.readText())
    }

    private static func chunk(_ line: String) -> String { String(line.utf8.count, radix: 16) + "\r\n\(line)\r\n" }

    @Test("the server sends a stream in chunks, and a client can send several times on another connection")
    func stream() async throws {
        try await withServer { server in
            let stream = try await ByteConnection.connect(port: server.port)
            stream.write(Self.receive("xhr_streaming"))
            let head = await stream.readHead()
            #expect(head.first == "HTTP/1.1 200 OK" && head.contains("Transfer-Encoding: chunked"))
            #expect(head.contains("Content-Type: application/javascript; charset=UTF-8"))
            let beginning = Self.chunk("o\n") + Self.chunk(greeting())
            #expect(String(decoding: await stream.read(beginning.utf8.count), as: UTF8.self) == beginning)
            let sender = try await ByteConnection.connect(port: server.port)
            for channel in ["a", "b", "c"] {
                let body = JSONWriter.array([JSONWriter.string(Envelope.subscribe(channel: channel).jsonText)])
                sender.write(Self.send(body, fields: ""))
                #expect(await sender.readHead().first == "HTTP/1.1 204 No Content")
                let line = Self.chunk(frame(Dialect.pusher.subscriptionSucceeded(channel: channel)))
                #expect(String(decoding: await stream.read(line.utf8.count), as: UTF8.self) == line)
            }
            #expect(server.connections.map(\.transport) == [.httpStreaming])
            server.closeConnections(code: 4200, reason: "again")
            #expect(await stream.readText() == Self.chunk("c[4200,\"again\"]\n") + "0\r\n\r\n")
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
            sender.close()
        }
    }

    @Test("a client can poll several times on one connection")
    func polling() async throws {
        try await withServer { server in
            let client = try await ByteConnection.connect(port: server.port)
            let poll = Self.receive("xhr").replacing("Connection: close\r\n", with: "")
            for line in ["o\n", greeting()] {
                client.write(poll)
                #expect(await client.readHead().first == "HTTP/1.1 200 OK")
                let body = Self.chunk(line) + "0\r\n\r\n"
                #expect(String(decoding: await client.read(body.utf8.count), as: UTF8.self) == body)
            }
            client.write(poll)
            try await server.waitForConnections(timeout: .patience)
            server.sendText("x")
            _ = await client.readHead()
            let body = Self.chunk(frame("x")) + "0\r\n\r\n"
            #expect(String(decoding: await client.read(body.utf8.count), as: UTF8.self) == body)
            client.close()
        }
    }

    @Test("an HTTP/1.0 response has no chunks, and its body ends with the connection")
    func oldHTTP() async throws {
        try await withServer { server in
            let request = Self.receive("xhr", version: "1.0").replacing(
                "Connection: close",
                with: "Connection: keep-alive"
            )
            let (head, body) = try await answer(request, from: server)
            #expect(head.first == "HTTP/1.1 200 OK" && head.contains("Connection: close"))
            #expect(!head.contains { $0.hasPrefix("Transfer-Encoding") })
            #expect(body == "o\n")
        }
    }

    @Test("a session ends after a delay if the client cancels its receiving request")
    func abort() async throws {
        try await withServer {
            $0.httpTransports.disconnectDelay = .milliseconds(20)
        } _: { server in
            // With this fault, the server holds the first poll.
            server.failConnections(with: .silent)
            for path in ["xhr_streaming", "xhr"] {
                let session = "/app/app-key/1/\(path)"
                let before = server.records.last
                let client = try await ByteConnection.connect(port: server.port)
                client.write(Self.receive(path, session))
                let opened = try await server.nextRecord(after: before, timeout: .patience) {
                    $0.event == .connectionAccepted
                }
                #expect(server.connections.count == 1)
                client.close()
                let ended = try await server.nextRecord(after: opened, timeout: .patience) {
                    $0.event == .connectionEnded
                }
                #expect(ended.socketID == opened.socketID && server.connections.isEmpty)
            }
        }
    }

    @Test("on sockets, a session moves after 256 KiB without losing frames")
    func moves() async throws {
        try await withServer {
            $0.httpTransports.moveTime = .patience
        } _: { server in
            var client = try await ByteConnection.connect(port: server.port)
            client.write(Self.receive("xhr_streaming", version: "1.0"))
            _ = await client.readHead()
            try await server.waitForConnections(timeout: .patience)
            for number in 0..<2_000 { server.sendText("<\(number)>" + String(repeating: "x", count: 500)) }
            // Like pusher-js, the client moves at the end of a frame, after it has read all bytes that have arrived.
            var body: [UInt8] = []
            var length = 0
            var moves = 0
            let end = Array("<1999>".utf8)
            while body.last != UInt8(ascii: "\n") || body.suffix(70_000).firstRange(of: end) == nil {
                let bytes = await client.readSome()
                try #require(!bytes.isEmpty)
                body += bytes
                length += bytes.count
                guard length > 256 << 10, bytes.last == UInt8(ascii: "\n") else { continue }
                client.close()
                client = try await ByteConnection.connect(port: server.port)
                client.write(Self.receive("xhr_streaming", version: "1.0"))
                _ = await client.readHead()
                length = 0
                moves += 1
            }
            let lines = String(decoding: body, as: UTF8.self).split(separator: "\n")
            let messages = lines.flatMap {
                JSONValue(parsing: String($0.dropFirst()))?.array?.compactMap(\.string) ?? []
            }
            let numbers = messages.compactMap { $0.hasPrefix("<") ? Int($0.dropFirst().prefix { $0 != ">" }) : nil }
            #expect(numbers.elementsEqual(0..<2_000) && moves >= 3)
            #expect(lines.count { $0 == "o" } == 1 && server.connections.count == 1)
            client.close()
        }
    }

    @Test("the server closes a stream's TCP connection if the client sends another request on it")
    func pipelined() async throws {
        try await withServer {
            $0.httpTransports.disconnectDelay = .milliseconds(20)
        } _: { server in
            let client = try await ByteConnection.connect(port: server.port)
            client.write(Self.receive("xhr_streaming").replacing("Connection: close\r\n", with: ""))
            _ = await client.readHead()
            client.write(Self.send("[]", fields: ""))
            #expect(await client.readText().hasPrefix(Self.chunk("o\n")))
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
        }
    }

    @Test("the server answers invalid requests with 404, 405, 413 or 500")
    func statuses() async throws {
        try await withServer { server in
            #expect(try await answer(Self.send("[]"), from: server).head.first == "HTTP/1.1 404 Not Found")
            let get = Self.receive("xhr").replacing("POST", with: "GET")
            #expect(try await answer(get, from: server).head.first == "HTTP/1.1 405 Method Not Allowed")
            let long = try await ByteConnection.connect(port: server.port)
            long.write(Self.send("").replacing("Content-Length: 0", with: "Content-Length: 9999999"))
            #expect(await long.readHead().first == "HTTP/1.1 413 Payload Too Large")
            long.close()
            _ = try await answer(Self.receive("xhr"), from: server)
            #expect(try await answer(Self.send("no"), from: server).head.first == "HTTP/1.1 500 Internal Server Error")
            server.failTransportRequests(1, with: .dropped)
            #expect(try await answer(Self.send("[]"), from: server).head.isEmpty)
            #expect(try await answer(Self.send("[]"), from: server).head.first == "HTTP/1.1 204 No Content")
        }
    }

    @Test("a dropped stream ends without the final chunk")
    func dropped() async throws {
        try await withServer { server in
            let client = try await ByteConnection.connect(port: server.port)
            client.write(Self.receive("xhr_streaming"))
            _ = await client.readHead()
            let beginning = Self.chunk("o\n") + Self.chunk(greeting())
            #expect(String(decoding: await client.read(beginning.utf8.count), as: UTF8.self) == beginning)
            server.dropConnections()
            #expect(await client.readText() == "")
        }
    }

    @Test("an HTTP client sends a preflight, streams, sends and polls over TLS")
    func tls() async throws {
        let certificates = TestCertificates()
        try await withServer {
            $0.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        } _: { server in
            let client = PooledHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
            defer { client.shutdown() }
            try await overTLS(server, client)
        }
    }

    private func overTLS(_ server: PusherTestServer, _ client: PooledHTTPRequester) async throws {
        func request(_ path: String, _ method: String = "POST", _ body: String = "") -> HTTPRequest {
            var headers: HTTPFields = ["Origin": "http://localhost", "Content-Type": "application/json"]
            if method == "OPTIONS" { headers.set("Access-Control-Request-Method", "POST") }
            return .to("\(server.url)\(Self.session)/\(path)", method: method, headers: headers, body: body)
        }
        #expect(try await client.status(request("xhr_streaming", "OPTIONS")) == 204)
        var body = ""
        for await event in client.events(of: request("xhr_streaming?protocol=7")) {
            switch event {
            case .head(let head):
                #expect(head.status == 200 && head.headers["Access-Control-Allow-Origin"] == "http://localhost")
            case .body(let bytes): body += String(buffer: bytes)
            case .end: break
            case .failed(let error): throw error
            }
            if body.hasSuffix(greeting()) {
                let message = JSONWriter.array([JSONWriter.string(Envelope.ping.jsonText)])
                #expect(try await client.status(request("xhr_send", "POST", message)) == 204)
            }
            if body.hasSuffix(frame(Dialect.pusher.pong)) { server.closeConnections(code: 4100) }
        }
        #expect(body == "o\n" + greeting() + frame(Dialect.pusher.pong) + "c[4100,\"\"]\n")
        #expect(try await client.status(request("xhr?protocol=7")) == 404)
    }

    @Test("the server limits its buffer for a client that does not read, and loses no message")
    func backPressure() async throws {
        try await withServer {
            $0.httpTransports.streamLimit = 1 << 40
            $0.httpTransports.maximumQueueSize = 64 << 20
        } _: { server in
            try await PusherTestRelay.withRelay(to: server) { relay in
                relay.fail(.toClient, with: .held)
                let client = try await ByteConnection.connect(port: relay.port)
                client.write(Self.receive("xhr_streaming", version: "1.0"))
                try await server.waitForConnections(timeout: .patience)
                let text = String(repeating: "x", count: 10_000)
                for number in 0..<3_000 { server.sendText("<\(number)>\(text)") }
                server.sendText("<last>")
                try await server.nextRecord(timeout: .patience) { $0.event == .messageSent("<last>") }
                let waiting = server.engine.read { $0.connections.values.first?.http }
                let limit = 2 * 65_536 + 10_100
                let bytesUnderWay = waiting?.receiver?.bytesUnderWay ?? Int.max
                let queuedBytes = waiting?.queuedBytes ?? 0
                #expect(bytesUnderWay < limit)
                #expect(queuedBytes > 1_048_576)
                relay.passOn()
                _ = await client.readHead()
                let body = await client.read(3_000 * 10_000)
                #expect(body.count == 30_000_000)
                client.close()
            }
        }
    }
}
