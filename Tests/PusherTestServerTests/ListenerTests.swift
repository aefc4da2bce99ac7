import NIOCore
import NIOHTTP1
import PusherProtocol
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("The server on real sockets", .limited)
struct ListenerTests {
    private func post(_ server: PusherTestServer, _ signed: SignedRESTRequest) async throws -> (Int, String) {
        let request = HTTPRequest.to(
            server.url + signed.pathAndQuery,
            method: signed.method,
            body: signed.body.isEmpty ? nil : signed.body
        )
        let response = try await PooledHTTPRequester.ofTests.response(to: request)
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    @Test("a client connects, subscribes and gets events that HTTP requests publish", arguments: ["127.0.0.1", "::1"])
    func endToEnd(host: String) async throws {
        var options = Options()
        options.host = host
        try await PusherTestServer.withServer(options: options) { server in
            let client = try await SocketClient.connect(to: server, path: "/prefix/app/app-key?protocol=7&client=x")
            let socketID = try await client.socketID()
            client.send(Envelope.subscribe(channel: "news").jsonText)
            #expect(await client.next() == .text(Dialect.pusher.subscriptionSucceeded(channel: "news")))
            let connections = try await server.waitForSubscription(to: "news", timeout: .patience)
            #expect(connections.map(\.socketID) == [socketID])
            #expect(connections.first?.request.path == "/prefix/app/app-key")
            #expect(connections.first?.request.parameters == ["protocol": "7", "client": "x"])

            let request = server.publishRequest(event: "flash", data: #"{"é":1}"#, to: ["news"])
            let (status, body) = try await post(server, request)
            #expect(status == 200 && body == "{}")
            #expect(await client.next() == .text(#"{"event":"flash","data":"{\"é\":1}","channel":"news"}"#))

            try server.publish(event: "own", data: "1", to: "news", excluding: socketID)
            try server.publish(event: "own", data: "2", to: "news")
            #expect(await client.next() == .text(#"{"event":"own","data":"2","channel":"news"}"#))
            client.close(code: 1000)
            #expect(await client.next() == .close(code: 1000, reason: ""))
            #expect(await client.next() == .end)
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionEnded }
        }
    }

    @Test("the answer to a rejected request contains a reason")
    func refusedRequest() async throws {
        try await PusherTestServer.withServer { server in
            let other = PusherTestServer.Application(secret: "other")
            let request = SignedRESTRequest(method: "GET", path: "/apps/1/channels", application: other)
            let (status, body) = try await post(server, request)
            #expect(status == 401 && body.contains("auth_signature"))
        }
    }

    @Test("the server answers an upgrade as RFC 6455 requires, and loses no byte after the request")
    func upgrade() async throws {
        var options = Options()
        options.echoesSubprotocol = true
        try await PusherTestServer.withServer(options: options) { server in
            let early = SocketClient.frame(0x81, Array(Envelope.ping.jsonText.utf8))
            let client = try await SocketClient.connect(
                to: server,
                headers: ["Sec-WebSocket-Protocol: pusher-channels-protocol-7"],
                after: early
            )
            guard case .response(101, let headers) = await client.next() else {
                Issue.record("no 101")
                return
            }
            #expect(headers.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="))
            #expect(headers.contains("sec-websocket-protocol: pusher-channels-protocol-7"))
            _ = await client.next()
            #expect(await client.next() == .text(Dialect.pusher.pong))
        }
    }

    @Test("commands close or drop all connections, or only one connection")
    func endings() async throws {
        try await PusherTestServer.withServer { server in
            let first = try await SocketClient.connect(to: server)
            let firstID = try await first.socketID()
            let second = try await SocketClient.connect(to: server)
            _ = try await second.socketID()
            server.closeConnections(.socket(firstID), code: 4200, reason: "again")
            #expect(await first.next() == .close(code: 4200, reason: "again"))
            first.close(code: 4200)
            #expect(await first.next() == .end)
            #expect(server.connections.count == 1)
            server.dropConnections()
            #expect(await second.next() == .end)
        }
    }

    @Test("the server sends long text, binary frames, WebSocket pings and raw bytes unchanged")
    func garbage() async throws {
        try await PusherTestServer.withServer { server in
            let client = try await SocketClient.connect(to: server)
            _ = try await client.socketID()
            let long = String(repeating: "x", count: 70_000)
            server.sendText(long)
            server.sendBinary([1, 2])
            server.sendWebSocketPing([3])
            server.sendRawBytes([0x8A, 0x01, 0x04])
            #expect(await client.next() == .text(long))
            #expect(await client.next() == .frame(opcode: 0x2, [1, 2]))
            #expect(await client.next() == .frame(opcode: 0x9, [3]))
            #expect(await client.next() == .frame(opcode: 0xA, [4]))
        }
    }

    @Test("faults refuse, drop and stall upgrades")
    func upgradeFaults() async throws {
        try await PusherTestServer.withServer { server in
            server.failConnections(1, with: .refused(status: 503))
            server.failConnections(1, with: .dropped)
            server.failConnections(1, with: .stalled)
            let refused = try await SocketClient.connect(to: server)
            guard case .response(503, _) = await refused.next() else {
                Issue.record("not refused")
                return
            }
            #expect(await refused.next() == .end)
            let dropped = try await SocketClient.connect(to: server)
            #expect(await dropped.next() == .end)
            let stalled = try await SocketClient.connect(to: server)
            try await server.nextRecord(timeout: .patience) { $0.event == .connectionFailed(.stalled) }
            let accepted = try await SocketClient.connect(to: server)
            _ = try await accepted.socketID()
            server.dropConnections()
            #expect(await stalled.next() == .end)
        }
    }

    @Test(
        "the server answers frames that RFC 6455 forbids with a close code",
        arguments: [
            (SocketClient.frame(0x81, [0x31], isMasked: false), 1002), (SocketClient.frame(0xC1, [0x31]), 1002),
            (SocketClient.frame(0x83, []), 1002), (SocketClient.frame(0x80, []), 1002),
            (SocketClient.frame(0x81, [0xFF]), 1007), (SocketClient.frame(0x88, [1]), 1002),
            (SocketClient.frame(0x01, []) + SocketClient.frame(0x81, []), 1002),
            (SocketClient.frame(0x81, Array(repeating: 0x31, count: 2_000)), 1009),
            (
                SocketClient.frame(0x01, Array(repeating: 0x31, count: 600))
                    + SocketClient.frame(0x80, Array(repeating: 0x31, count: 600)), 1009
            ),
            (SocketClient.frame(0x09, []), 1002), (SocketClient.frame(0x89, Array(repeating: 0, count: 126)), 1002),
        ] as [([UInt8], Int)]
    )
    func violations(bytes: [UInt8], code: Int) async throws {
        var options = Options()
        options.maximumMessageSize = 1_000
        try await PusherTestServer.withServer(options: options) { server in
            let client = try await SocketClient.connect(to: server)
            _ = try await client.socketID()
            client.write(bytes)
            guard case .close(let closeCode, _) = await client.next() else {
                Issue.record("not closed")
                return
            }
            #expect(closeCode == code)
        }
    }

    @Test("the server joins the fragments of a message")
    func fragments() async throws {
        try await PusherTestServer.withServer { server in
            let client = try await SocketClient.connect(to: server)
            _ = try await client.socketID()
            let bytes = Array(Envelope.ping.jsonText.utf8)
            client.write(SocketClient.frame(0x01, Array(bytes.prefix(5))))
            client.write(SocketClient.frame(0x89, [7]))
            client.write(SocketClient.frame(0x80, Array(bytes.dropFirst(5))))
            #expect(await client.next() == .frame(opcode: 0xA, [7]))
            #expect(await client.next() == .text(Dialect.pusher.pong))
        }
    }

    @Test("the server answers invalid HTTP with 400")
    func notHTTP() async throws {
        try await PusherTestServer.withServer { server in
            let client = try await SocketClient.connect(to: server, path: nil)
            client.write(Array("nonsense\r\n\r\n".utf8))
            guard case .response(400, _) = await client.next() else {
                Issue.record("no 400")
                return
            }
        }
    }

    @Test("a client connects over TLS")
    func tls() async throws {
        let certificates = TestCertificates()
        var options = Options()
        options.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        try await PusherTestServer.withServer(options: options) { server in
            let client = try await SocketClient.connect(to: server, trusting: certificates.rootPEM)
            _ = try await client.socketID()
            client.send(Envelope.ping.jsonText)
            #expect(await client.next() == .text(Dialect.pusher.pong))
            server.dropConnections()
            #expect(await client.next() == .end)
        }
    }

    @Test("start() throws an error for an unreadable certificate")
    func invalidCertificate() async throws {
        var options = Options()
        options.tls = PusherTestServer.TLS(certificateChain: "x", privateKey: "y")
        let error = await #expect(throws: PusherTestServer.ServerError.self) {
            try await PusherTestServer(options: options).start()
        }
        #expect(error?.code == .invalidCertificate)
    }

    @Test("repeated starts and shutdowns keep the port")
    func restart() async throws {
        var options = Options()
        options.host = LoopbackAddress.ofItsOwn()
        let server = PusherTestServer(options: options)
        try await server.start()
        try await server.start()
        let port = server.port
        let client = try await SocketClient.connect(to: server)
        let firstID = try await client.socketID()
        await server.shutdown()
        await server.shutdown()
        #expect(await client.next() == .end)
        await #expect(throws: (any Error).self) { try await SocketClient.connect(to: server) }
        try await server.start()
        #expect(server.port == port)
        let again = try await SocketClient.connect(to: server)
        #expect(try await again.socketID() != firstID)
        await #expect(throws: PusherTestServer.ServerError.self) {
            options.port = port
            try await PusherTestServer(options: options).start()
        }
        await server.shutdown()
    }

    @Test("a server closes its connections when the app releases the server")
    func dropped() async throws {
        var server: PusherTestServer? = PusherTestServer()
        try await server?.start()
        let client = try await SocketClient.connect(to: try #require(server))
        _ = try await client.socketID()
        server = nil
        #expect(await client.next() == .end)
    }
}
