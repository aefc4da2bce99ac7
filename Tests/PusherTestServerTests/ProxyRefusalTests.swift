import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import ProxyTestSupport
@testable import PusherTestServer

@Suite("Requests that the proxy refuses", .limited)
struct ProxyRefusalTests {
    @Test("the proxy answers a wrong user name or password with 407")
    func authentication() async throws {
        var proxyOptions = TestProxy.Options()
        proxyOptions.credentials = .init(username: "ada", password: "secret")
        proxyOptions.realm = #"the "firm""#
        try await withServerAndProxy(proxyOptions: proxyOptions) { server, proxy in
            let wrong = ["", "Proxy-Authorization: Basic YWRhOnNlY3JlVA==\r\n", "Proxy-Authorization: x\r\n"]
            for field in wrong {
                let text = try await answer(of: proxy, to: tunnelRequest(server.port, field))
                #expect(text.hasPrefix("HTTP/1.1 407 Proxy Authentication Required\r\n"))
                #expect(text.contains("Proxy-Authenticate: Basic realm=\"the \\\"firm\\\"\"\r\n"))
            }
            let forwarded = try await answer(of: proxy, to: "GET \(server.url)/ HTTP/1.1\r\n\r\n")
            #expect(forwarded.hasPrefix("HTTP/1.1 407 "))
            let right = try await ByteConnection.connect(port: proxy.port)
            right.write(tunnelRequest(server.port, "proxy-authorization: basic YWRhOnNlY3JldA==\r\n"))
            #expect(await right.readHead() == ["HTTP/1.1 200 Connection established"])
            right.close()
            #expect(proxy.requests.map(\.status) == [407, 407, 407, 407, 200])
            #expect(proxy.requests.map(\.isAuthorized) == [false, false, false, false, true])
            for text in ["\(proxy.options)", "\(proxy.requests)", String(reflecting: proxy.options.credentials)] {
                #expect(!text.contains("secret") && !text.contains("YWRh"))
            }
            #expect(server.records.isEmpty)
        }
    }

    @Test(
        "the proxy refuses other machines, unknown names and unusual forms of addresses",
        arguments: [
            "nowhere.example.test:80", "192.0.2.1:80", "0.0.0.0:80", "[::]:80", "[::ffff:127.0.0.1]:80",
            "2130706433:80",
            "127.1:80", "127.0.0.1.example.test:80", "[fe80::1]:80", "mapped.example.test:80", "[::1%lo]:80",
        ]
    )
    func targets(target: String) async throws {
        var options = TestProxy.Options()
        options.hosts["mapped.example.test"] = "192.0.2.7"
        try await TestProxy.withProxy(options: options) { proxy in
            let tunnel = try await answer(of: proxy, to: "CONNECT \(target) HTTP/1.1\r\n\r\n")
            let isURL = !target.contains("%")
            #expect(tunnel.hasPrefix(isURL ? "HTTP/1.1 502 " : "HTTP/1.1 "))
            let forwarded = try await answer(of: proxy, to: "GET http://\(target)/ HTTP/1.1\r\n\r\n")
            #expect(forwarded.hasPrefix(isURL ? "HTTP/1.1 502 " : "HTTP/1.1 "))
            #expect(proxy.requests.allSatisfy { $0.status == 502 })
        }
    }

    @Test("the proxy refuses a port without a listener")
    func nobody() async throws {
        try await TestProxy.withProxy { proxy in
            // Another test may already use a port that was free before, but no test listens at this address.
            let text = try await answer(of: proxy, to: "CONNECT 127.77.0.5:9 HTTP/1.1\r\n\r\n")
            #expect(text.hasPrefix("HTTP/1.1 502 "))
            #expect(proxy.requests.map(\.status) == [502])
        }
    }

    @Test(
        "the proxy refuses requests that are not for a proxy",
        arguments: [
            "nonsense\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", "CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n",
            "CONNECT 127.0.0.1: HTTP/1.1\r\n\r\n", "CONNECT 127.0.0.1:0 HTTP/1.1\r\n\r\n",
            "CONNECT 127.0.0.1:65536 HTTP/1.1\r\n\r\n", "CONNECT 127.0.0.1:+80 HTTP/1.1\r\n\r\n",
            "CONNECT [::1 HTTP/1.1\r\n\r\n", "CONNECT :80 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET https://localhost/ HTTP/1.1\r\n\r\n", "GET http:///x HTTP/1.1\r\n\r\n",
            "GET http://a@127.0.0.1/ HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT  HTTP/1.1\r\n\r\n",
            "CONNECT 127.0.0.1:80 HTTP/1.1\r\nno colon\r\n\r\n", "GET * HTTP/1.1\r\n\r\n",
        ]
    )
    func hostile(text: String) async throws {
        try await TestProxy.withProxy { proxy in
            let answer = try await answer(of: proxy, to: text)
            #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n") && answer.contains("\r\nConnection: close\r\n"))
            #expect(proxy.requests.isEmpty)
        }
    }

    @Test("the proxy refuses heads without an end")
    func giantHeads() async throws {
        try await withServerAndProxy { server, proxy in
            let field = "X: \(String(repeating: "x", count: 1_000))\r\n"
            let many = tunnelRequest(server.port, String(repeating: field, count: 100))
            #expect(try await answer(of: proxy, to: many).hasPrefix("HTTP/1.1 431 "))
            let long = "CONNECT " + String(repeating: "a", count: 5 << 20)
            #expect(try await answer(of: proxy, to: long).hasPrefix("HTTP/1.1 431 "))
            // The client sends an incomplete head and ends its output.
            let client = try await ByteConnection.connect(port: proxy.port)
            client.write("CONNECT 127")
            client.endOutput()
            _ = await client.readToEnd()
            let silent = try await ByteConnection.connect(port: proxy.port)
            silent.endOutput()
            #expect(await silent.readToEnd() == [])
            #expect(proxy.requests.isEmpty)
        }
    }
}

@Suite("Faults of the proxy", .limited)
struct ProxyFaultTests {
    @Test("each fault applies to the requested number of requests")
    func counted() async throws {
        try await withServerAndProxy { server, proxy in
            proxy.refuse(0, with: 500)
            proxy.refuse(2, with: 403)
            proxy.closeBeforeAnswering(1)
            proxy.answer(1, raw: Array("SSH-2.0-x\r\n".utf8))
            proxy.answer(1, followedBy: Array("more".utf8))
            let request = tunnelRequest(server.port)
            #expect(try await answer(of: proxy, to: request).hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
            #expect(try await answer(of: proxy, to: "GET http://x/ HTTP/1.1\r\n\r\n").hasPrefix("HTTP/1.1 403 "))
            #expect(try await answer(of: proxy, to: request) == "")
            #expect(try await answer(of: proxy, to: request) == "SSH-2.0-x\r\n")
            let client = try await ByteConnection.connect(port: proxy.port)
            client.write(request)
            #expect(await client.readHead() == ["HTTP/1.1 200 Connection established"])
            #expect(await client.read(4) == Array("more".utf8))
            let usual = try await SocketClient.connect(to: server, through: proxy)
            _ = try await usual.socketID()
            #expect(proxy.requests.map(\.status) == [403, 403, nil, nil, 200, 200])
            #expect(
                proxy.requests.map(\.host) == ["127.0.0.1", "x", "127.0.0.1", "127.0.0.1", "127.0.0.1", "localhost"]
            )
        }
    }

    @Test("the proxy is silent until a command ends the fault, and open tunnels continue")
    func silence() async throws {
        try await withServerAndProxy { server, proxy in
            let standing = try await SocketClient.connect(to: server, through: proxy)
            _ = try await standing.socketID()
            proxy.goSilent()
            let silent = try await ByteConnection.connect(port: proxy.port)
            silent.write(tunnelRequest(server.port) + "more")
            let request = try await proxy.nextRequest(timeout: .patience) { $0.status == nil }
            #expect(request.index == 1)
            standing.send(Envelope.ping.jsonText)
            #expect(await standing.next() == .text(Dialect.pusher.pong))
            proxy.accept()
            let next = try await SocketClient.connect(to: server, through: proxy)
            _ = try await next.socketID()
            silent.endOutput()
            #expect(await silent.readToEnd() == [])
        }
    }

    @Test("a new status replaces the earlier status for all requests")
    func statuses() async throws {
        try await TestProxy.withProxy { proxy in
            for status in [502, 407, 204, -1] {
                proxy.refuse(with: status)
                _ = try await answer(of: proxy, to: tunnelRequest(1))
                _ = try await answer(of: proxy, to: "HEAD http://x/ HTTP/1.1\r\n\r\n")
            }
            #expect(proxy.requests.map(\.status) == [502, 502, 407, 407, 204, 204, -1, -1])
            let second = try await proxy.nextRequest(after: proxy.requests.first)
            #expect(second.index == 1 && second.method == "HEAD" && second.port == 80)
            let error = await #expect(throws: PusherTestServer.ServerError.self) {
                try await proxy.nextRequest(after: proxy.requests.last, timeout: .zero)
            }
            #expect(error?.code == .waitTimedOut)
            await #expect(throws: PusherTestServer.ServerError.self) {
                try await proxy.waitForOpenTunnels(count: 1, timeout: .zero)
            }
        }
    }
}
