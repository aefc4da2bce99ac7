import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("HTTP on the server's sockets", .limited)
struct HTTPRulesTests {
    private static let upgrade =
        "GET /app/app-key?protocol=7 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"

    @Test("the server answers a request for an unknown protocol and closes the connection")
    func otherUpgrade() async throws {
        try await PusherTestServer.withServer { server in
            let client = try await ByteConnection.connect(port: server.port)
            client.write(
                "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
            )
            let head = await client.readHead()
            #expect(head.first == "HTTP/1.1 404 Not Found")
            #expect(head.contains("Connection: close"))
            _ = await client.readToEnd()
        }
    }

    @Test("answers to HEAD, and answers with status 204, have no body")
    func bodies() async throws {
        try await PusherTestServer.withServer { server in
            server.failAuthorizations(1, with: .status(204, body: "none"))
            let client = try await ByteConnection.connect(port: server.port)
            client.write("HEAD /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let head = await client.readHead()
            #expect(head.first == "HTTP/1.1 404 Not Found")
            #expect(head.contains { $0.hasPrefix("Content-Length: ") && $0 != "Content-Length: 0" })
            client.write("POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
            let empty = await client.readHead()
            #expect(empty.first == "HTTP/1.1 204 No Content")
            #expect(!empty.contains { $0.hasPrefix("Content-Length") })
            client.write("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(await client.readHead().first == "HTTP/1.1 404 Not Found")
            client.close()
        }
    }

    @Test(
        "the server rejects an upgrade without a version or with an invalid key",
        arguments: [
            ("Sec-WebSocket-Version: 13\r\n", "400 Bad Request"),
            ("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a2V5\r\n", "400 Bad Request"),
            ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "426 Upgrade Required"),
            ("Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "426 Upgrade Required"),
        ]
    )
    func upgrades(fields: String, status: String) async throws {
        try await PusherTestServer.withServer { server in
            let client = try await ByteConnection.connect(port: server.port)
            client.write(Self.upgrade + fields + "\r\n")
            let head = await client.readHead()
            #expect(head.first == "HTTP/1.1 \(status)")
            #expect(head.contains("Sec-WebSocket-Version: 13") == status.hasPrefix("426"))
            _ = await client.readToEnd()
            #expect(server.connections.isEmpty)
        }
    }

    @Test(
        "the server answers a close frame with an invalid code or reason with an error code",
        arguments: [
            ([0x03, 0xED], 1002), ([0x03, 0xEE], 1002), ([0x03, 0xE7], 1002), ([0xFF, 0xFF], 1002),
            ([0x03, 0xE8, 0xFF], 1007),
        ] as [([UInt8], Int)]
    )
    func closes(payload: [UInt8], code: Int) async throws {
        try await PusherTestServer.withServer { server in
            let client = try await ByteConnection.connect(port: server.port)
            let fields = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            client.write(Self.upgrade + fields)
            _ = await client.readHead()
            // The mask consists of zeros.
            client.write([0x88, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload)
            let record = try await server.nextRecord(timeout: .patience) {
                if case .closeSent = $0.event { true } else { false }
            }
            guard case .closeSent(code, _) = record.event else {
                Issue.record("\(record)")
                return
            }
            client.close()
        }
    }

    @Test("a plus means a space in forms and queries, and a plus in paths")
    func plus() {
        #expect(PercentEncoding.decode("a+b%2Bc") == "a+b+c")
        #expect(Form("user=a+b%2Bc")["user"] == "a b+c")
        #expect(ServerBrain.applicationKey(inPath: "/app/a+b") == "a+b")
    }
}
