import NIOCore
import SocketTestSupport
import TestSupport
import TestTraits
import Testing
import WebSocketClient

@Suite("The upgrade to WebSocket", .limited)
struct UpgradeTests {
    static let request = WebSocketRequest(host: "ws.example.com", port: 443, useTLS: true, path: "/app/key?a=b")

    @Test("the request has the path, the host and the caller's headers")
    func text() throws {
        var request = Self.request
        request.subprotocols = ["pusher-channels-protocol-7", "v8"]
        request.headers = ["Origin": "https://example.com"]
        let text = """
            GET /app/key?a=b HTTP/1.1
            Host: ws.example.com
            Connection: Upgrade
            Upgrade: websocket
            Sec-WebSocket-Version: 13
            Sec-WebSocket-Key: a2V5
            Sec-WebSocket-Protocol: pusher-channels-protocol-7, v8
            Origin: https://example.com


            """
        #expect(
            try UpgradeRequest(request, key: "a2V5").text
                == text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        )
    }

    @Test(
        "the Host header contains a port that is not the default, and brackets around an IPv6 address",
        arguments: [
            ("example.com", 80, false, "example.com"), ("example.com", 443, false, "example.com:443"),
            ("example.com", 443, true, "example.com"), ("example.com", 80, true, "example.com:80"),
            ("::1", 6001, false, "[::1]:6001"), ("[::1]", 443, true, "[::1]"),
            ("127.0.0.1", 8080, true, "127.0.0.1:8080"),
        ]
    )
    func host(host: String, port: Int, useTLS: Bool, expected: String) throws {
        let request = WebSocketRequest(host: host, port: port, useTLS: useTLS, path: "/")
        #expect(try UpgradeRequest(request).text.contains("\r\nHost: \(expected)\r\n"))
    }

    @Test("the caller's Host header replaces the default")
    func ownHost() throws {
        var request = Self.request
        request.headers = ["host": "other"]
        let text = try UpgradeRequest(request).text
        #expect(text.contains("\r\nhost: other\r\n") && !text.contains("Host:"))
    }

    @Test("the error does not show an invalid header value, which may be secret")
    func secretValue() {
        var request = Self.request
        request.headers = ["Authorization": "Bearer token\n"]
        let error = #expect(throws: WebSocketError.self) { try UpgradeRequest(request) }
        #expect(error?.message.contains("Authorization") == true)
        #expect(error.map { "\($0)".contains("token") } == false)
    }

    @Test("a value of the caller cannot inject a header into the request")
    func smuggling() {
        func code(_ change: (inout WebSocketRequest) -> Void) -> WebSocketError.Code? {
            var request = Self.request
            change(&request)
            do throws(WebSocketError) { _ = try UpgradeRequest(request) } catch { return error.code }
            return nil
        }
        #expect(code { $0.path = "/a b" } == .invalidPath)
        #expect(code { $0.path = "/a\r\nX: y" } == .invalidPath)
        #expect(code { $0.path = "" } == .invalidPath)
        #expect(code { $0.host = "a\r\nb" } == .invalidHost)
        #expect(code { $0.host = "" } == .invalidHost)
        #expect(code { $0.subprotocols = ["a", "a\nb"] } == .invalidOption)
        #expect(code { $0.headers = ["X": "a\r\nY: b"] } == .invalidOption)
        #expect(code { $0.headers = ["X\n": "a"] } == .invalidOption)
        #expect(code { $0.headers = ["": "a"] } == .invalidOption)
        #expect(code { $0.headers = ["Sec-WebSocket-Key": "a"] } == .invalidOption)
    }

    @Test(
        "the reader accepts a valid answer in any pieces, and leaves later bytes in the buffer",
        arguments: [1, 2, 5, 1000]
    )
    func accepted(size: Int) throws {
        let request = try UpgradeRequest(Self.request)
        let reader = UpgradeResponseReader(request)
        let early = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        var rest = Array((early + acceptance(of: request.text) + "frames").utf8)[...]
        var unread = ByteBuffer()
        var isAccepted = false
        while !isAccepted, !rest.isEmpty {
            unread.writeBytes(rest.prefix(size))
            rest = rest.dropFirst(size)
            isAccepted = try reader.read(&unread)
        }
        unread.writeBytes(rest)
        #expect(isAccepted && String(buffer: unread) == "frames")
    }

    @Test("reports the subprotocol that the server chose")
    func subprotocol() throws {
        var offer = Self.request
        offer.subprotocols = ["v8", "v7"]
        let request = try UpgradeRequest(offer)
        let reader = UpgradeResponseReader(request)
        var answer = ByteBuffer(string: acceptance(of: request.text, extra: "sec-websocket-protocol: v7\r\n"))
        #expect(try reader.read(&answer))
        #expect(reader.subprotocol == "v7")
    }

    static let wrongAnswers: [(LongText, String)] = [
        ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno", "HTTP status 503 Service Unavailable"),
        ("HTTP/1.1 301\r\nContent-Length: 0\r\n\r\n", "HTTP status 301"),
        ("HTTP/1.1 204 OK\r\n\r\n", "HTTP status 204"),
        ("HTTP/1.1 403\r\nno colon\r\n", "HTTP status 403"),
        ("HTTP/1.1 403\r\nA: \(String(repeating: "a", count: 20_000))", "HTTP status 403"),
        ("SSH-2.0-OpenSSH", "it is not HTTP"),
        ("\r\n", "it is not HTTP"),
        // The bytes are an alert, and the beginning of a handshake.
        ("\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{46}", "because it is TLS, and the client does not use TLS (useTLS)"),
        ("\u{16}\u{3}\u{3}\u{0}\n", "because it is TLS, and the client does not use TLS (useTLS)"),
        ("HTTP/2.0 200 OK\r\n", "it is not HTTP"),
        ("HTTPS/1.1 \(String(repeating: "a", count: 20_000))", "it is not HTTP"),
        ("HTTP/1.1 abc\r\n", "HTTP status"),
        ("HTTP/1.1\r\n", "HTTP status"),
        ("HTTP/1.1 99999999999999999999 X\r\n", "HTTP status"),
        ("HTTP/1.1 101 X\r\n\r\n", "does not upgrade"),
        ("HTTP/1.1 101 X\r\nno colon\r\n", "without a name"),
        ("HTTP/1.1 101 X\r\n: value\r\n", "without a name"),
        ("HTTP/1.1 101 X\r\nA: b\r\n folded: c\r\n", "with spaces"),
        ("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "Sec-WebSocket-Accept"),
        (
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n",
            "Sec-WebSocket-Accept"
        ),
        ("HTTP/1.1 101 X\r\nA: \(String(repeating: "a", count: 20_000))", "larger than 16384 bytes"),
        ("HTTP/1.1 101 X\r\n\(String(repeating: "A: b\r\n", count: 3_000))", "larger than 16384 bytes"),
        (LongText(repeating: "HTTP/1.1 103 X\r\n\r\n", count: 1_000), "larger than 16384 bytes"),
    ]

    private func read(_ answer: String, inPiecesOf size: Int) throws {
        let reader = UpgradeResponseReader(try UpgradeRequest(Self.request))
        var rest = Array(answer.utf8)[...]
        while !rest.isEmpty {
            var bytes = ByteBuffer(bytes: rest.prefix(size))
            rest = rest.dropFirst(size)
            _ = try reader.read(&bytes)
        }
    }

    @Test("the reader rejects any other answer, with the reason", arguments: wrongAnswers)
    func refused(answer: LongText, expected: String) throws {
        let answer = answer.text
        for size in [answer.utf8.count, 1] {
            let error = #expect(throws: WebSocketError.self) { try read(answer, inPiecesOf: size) }
            #expect(error?.code == .upgradeFailed)
            #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
        }
    }

    static let bodies: [(LongText, LongText)] = [
        ("Content-Length: 9\r\n\r\nno tokens and more", "no tokens"),
        (
            "Content-Length: 100000\r\n\r\n\(String(repeating: "a", count: 70_000))",
            LongText(repeating: "a", count: 65_536)
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n3\r\nno \r\nA;x=y\r\ntokens are\r\n5\r\n left\r\n0\r\n\r\n",
            "no tokens are left"
        ),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nno \r\n-1\r\n", "no "),
        ("Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n", ""),
        ("Transfer-Encoding: chunked\r\n\r\n\(String(repeating: "1", count: 2_000))", ""),
        ("Content-Length: -5\r\n\r\n\(String(repeating: "b", count: 70_000))", LongText(repeating: "b", count: 65_536)),
    ]

    @Test("the error of a refused upgrade has the head and the first 64 KiB of the body", arguments: bodies)
    func refusalBody(rest: LongText, body: LongText) throws {
        let answer = "HTTP/1.1 429 Slow Down\r\nRetry-After: 7\r\nX-A: 1\r\nx-a: 2\r\n" + rest.text
        for size in [answer.utf8.count, 1_000, 1] {
            let error = #expect(throws: WebSocketError.self) { try read(answer, inPiecesOf: size) }
            #expect(error?.message == "WebSocket upgrade failed: the server answered with HTTP status 429 Slow Down.")
            #expect(error?.httpStatus == 429 && error?.response?.status == 429)
            #expect(error?.response?.header("retry-after") == "7")
            #expect(error?.response?.header("X-A") == "1, 2")
            #expect(error?.response?.bodyText == body.text)
        }
    }

    @Test("the printed forms of a refused upgrade show neither header values nor the body")
    func refusalSecrets() {
        let response = WebSocketResponse(
            status: 401,
            headers: ["Set-Cookie": "secret"],
            body: Array("secret".utf8)
        )
        let error = WebSocketError(.upgradeFailed, "Refused.", httpStatus: 401, response: response)
        for text in PrintedForms.of(error) + PrintedForms.of(response) { #expect(!text.contains("secret"), "\(text)") }
    }

    @Test("rejects extensions and subprotocols that the client did not offer")
    func notOffered() throws {
        for extra in ["Sec-WebSocket-Extensions: permessage-deflate\r\n", "Sec-WebSocket-Protocol: v8\r\n"] {
            let request = try UpgradeRequest(Self.request)
            let reader = UpgradeResponseReader(request)
            var answer = ByteBuffer(string: acceptance(of: request.text, extra: extra))
            #expect(throws: WebSocketError.self) { try reader.read(&answer) }
        }
    }

    @Test(
        "if a server requires compression, the error says so",
        arguments: [
            ("Sec-WebSocket-Extensions: permessage-deflate\r\nContent-Length: 0\r\n\r\n", true),
            ("Content-Length: 27\r\n\r\npermessage-deflate required", true), ("Content-Length: 2\r\n\r\nno", false),
        ]
    )
    func requiredCompression(rest: String, isNamed: Bool) throws {
        let reader = UpgradeResponseReader(try UpgradeRequest(Self.request))
        var bytes = ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\(rest)")
        let error = #expect(throws: WebSocketError.self) { _ = try reader.read(&bytes) }
        #expect(error?.message.hasSuffix(" The server requires compression (permessage-deflate).") == isNamed)
    }
}
