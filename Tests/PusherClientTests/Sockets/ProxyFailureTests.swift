import ClientTestSupport
import NIOCore
import ProxyTestSupport
import PusherTestServer
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTraits
import Testing
import WebSocketClient

@testable import PusherClient

@Suite("Proxies that fail, on real sockets", .limited)
struct ProxyFailureTests {
    private func firstError(
        password: String? = nil,
        isProtected: Bool = false,
        _ prepare: @escaping (TestProxy) async -> Void
    ) async throws -> PusherClientError {
        var error: PusherClientError?
        try await withProxy(isProtected: isProtected, password: password) { _, proxy, pusher in
            await prepare(proxy)
            var errors = pusher.errors.makeAsyncIterator()
            pusher.connect()
            error = await errors.next()
            // The client tries again after the failure, and connects unless the proxy rejects the credentials.
            proxy.accept()
            if !isProtected { try await pusher.connected() }
        }
        return try #require(error)
    }

    @Test(
        "the error names a proxy that rejects the credentials, without showing the credentials",
        arguments: [nil, "hush-wrong-password"]
    )
    func refusedCredentials(password: String?) async throws {
        let error = try await firstError(password: password, isProtected: true) { _ in }
        #expect(error.code == .proxyFailed)
        #expect(error.message.contains("HTTP status 407"))
        #expect(error.message.contains(password == nil ? "requires a user name" : "does not accept"))
        SecretSearch.search(formsOf: error)
    }

    @Test("no error contains header fields of a proxy's answer")
    func echoed() async throws {
        try await withProxy(isProtected: true, password: "hush-password") { _, proxy, pusher in
            let token = "YWRhOmh1c2gtcGFzc3dvcmQ="
            proxy.answer(1, raw: Array("HTTP/1.1 403 No\r\nX-Echo: Basic \(token)\r\nContent-Length: 0\r\n\r\n".utf8))
            var errors = pusher.errors.makeAsyncIterator()
            pusher.connect()
            let error = await errors.next()
            #expect(error?.message.contains("HTTP status 403") == true)
            for secret in [token, "hush-password", "X-Echo"] { #expect(error?.description.contains(secret) == false) }
        }
    }

    @Test("a WebSocket session is freed after a proxy has refused the tunnel")
    func nothingLeft() async throws {
        try await TestProxy.withProxy { proxy in
            proxy.refuse(with: 403)
            let rules = ProxyRules(.server(host: proxy.host, port: proxy.port))
            var socket: SocketUnderTest? = try SocketUnderTest(
                .init(host: proxiedName, port: 80, useTLS: false, path: "/"),
                proxies: rules
            )
            #expect(await socket?.next()?.error == .proxyFailed)
            let loop = try #require(socket?.eventLoop)
            let witness = try #require(try await socket?.witness())
            socket = nil
            try await waitUntil { try await loop.submit { witness.value.isReleased }.get() }
        }
    }

    @Test(
        "an attempt fails with the status of a proxy that refuses the tunnel, and the client tries again",
        arguments: [403, 502, 302, 100]
    )
    func refused(status: Int) async throws {
        let error = try await firstError { $0.refuse(1, with: status) }
        #expect(error.code == .proxyFailed)
        #expect(error.message.contains("'ws.example.test'"))
        if status >= 200 { #expect(error.message.contains("HTTP status \(status)")) }
    }

    @Test("an attempt fails if the proxy closes the connection or answers with invalid HTTP", arguments: [0, 1, 2])
    func nonsense(kind: Int) async throws {
        let error = try await firstError { proxy in
            switch kind {
            case 0: proxy.closeBeforeAnswering(1)
            case 1: proxy.answer(1, raw: Array("SSH-2.0-OpenSSH\r\n".utf8))
            default:
                proxy.answer(
                    1,
                    raw: Array(
                        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: \(String(repeating: "a", count: 200_000))".utf8
                    )
                )
            }
        }
        #expect(error.code == .proxyFailed)
        #expect(error.message.contains("gave no answer, or an answer that is not HTTP"))
    }

    @Test("an attempt fails if the proxy sends bytes after its answer")
    func smuggled() async throws {
        let upgrade = Array(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n".utf8
        )
        for useTLS in [true, false] {
            try await withProxy(useTLS: useTLS) { _, proxy, pusher in
                proxy.answer(1, followedBy: upgrade)
                var errors = pusher.errors.makeAsyncIterator()
                pusher.connect()
                let error = await errors.next()
                #expect(error?.code == .proxyFailed)
                #expect(error?.message.contains("opened no tunnel") == true)
                try await pusher.connected()
            }
        }
    }

    @Test("an attempt through a silent proxy fails at its timeout")
    func silent() async throws {
        try await TestProxy.withProxy { proxy in
            proxy.goSilent()
            let pusher = Pusher(
                key: "key",
                options: PusherClientOptions(
                    endpoint: PusherEndpoint(host: proxiedName, useTLS: false),
                    timeouts: .init(connectionAttempt: .milliseconds(50)),
                    proxy: .server(host: proxy.host, port: proxy.port),
                    logger: .quiet
                )
            )
            var errors = pusher.errors.makeAsyncIterator()
            pusher.connect()
            #expect(await errors.next()?.code == .connectionTimedOut)
            await pusher.disconnected()
        }
    }

    @Test("the error for an unreachable proxy says that the client did not reach the proxy")
    func unreachable() async throws {
        // No test listens at 127.77.0.4, so no connection to a proxy there can succeed.
        for (host, text) in [
            ("127.77.0.4", "was not reached"), (String(repeating: "a", count: 70), "could not be resolved"),
        ] {
            let rules = ProxyRules(.server(host: host, port: 9))
            let socket = try SocketUnderTest(
                .init(host: proxiedName, port: 80, useTLS: false, path: "/"),
                proxies: rules
            )
            let end = await socket.next()
            #expect(end?.error == .proxyFailed)
            let message = end?.message ?? ""
            #expect(message.contains(text) && message.contains("the proxy '\(host)'"))
        }
    }

    @Test("the error for an authorization that the proxy refuses names the proxy", arguments: [true, false])
    func authorization(useTLS: Bool) async throws {
        try await PusherTestServer.withServer { server in
            var options = TestProxy.Options()
            options.credentials = .init(username: "ada", password: "hush-right")
            options.hosts[proxiedName] = server.host
            try await TestProxy.withProxy(options: options) { proxy in
                let wrong = HTTPProxy.Credentials(username: "ada", password: "hush-wrong")
                let rules = ProxyRules(.server(host: proxy.host, port: proxy.port, credentials: wrong))
                let requester = PooledHTTPRequester.patient(proxies: rules)
                let url = "\(useTLS ? "https" : "http")://\(proxiedName):\(server.port)/pusher/auth"
                let error = await #expect(throws: HTTPRequestError.self) { try await requester.response(to: .get(url)) }
                #expect(error?.message.contains("the proxy '127.0.0.1'") == true, "\(error?.message ?? "")")
                #expect(error?.message.contains("HTTP status 407") == true)
                SecretSearch.search(formsOf: try #require(error))
            }
        }
    }

    @Test("the client does not send an authorization over TLS to an IP address through a proxy")
    func authorizationAtAddress() async throws {
        let rules = ProxyRules(.server(host: "127.0.0.1", port: 9))
        let requester = PooledHTTPRequester.patient(proxies: rules)
        let error = await #expect(throws: HTTPRequestError.self) {
            try await requester.response(to: .get("https://10.0.0.1/pusher/auth"))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message.contains("10.0.0.1") == true)
    }
}

private final class WeakSession {
    private weak var session: WebSocketSession?

    init(_ session: WebSocketSession) { self.session = session }

    var isReleased: Bool { session == nil }
}

extension SocketUnderTest {
    fileprivate func witness() async throws -> NIOLoopBound<WeakSession> {
        let session = connection.session
        return try await eventLoop.submit { [eventLoop] in
            NIOLoopBound(WeakSession(session.value), eventLoop: eventLoop)
        }.get()
    }
}
