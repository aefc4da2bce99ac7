import ClientTestSupport
import ProxyTestSupport
import PusherTestServer
import RealtimeHTTP
import RealtimeNetworking
import TestSupport
import TestTLS

@testable import PusherClient

/// A host that only the proxy knows.
let proxiedName = "ws.example.test"

/// Runs a test with a server, a proxy and a client. Only the proxy knows the server's address, and the server has a
/// certificate for its name.
func withProxy(
    useTLS: Bool = true,
    isProtected: Bool = false,
    password: String? = nil,
    authMethod: (PusherTestServer) -> AuthMethod = { _ in .noMethod },
    tls: (TestCertificates) -> TLSOptions = { TLSOptions(trustRoots: .only(pem: $0.rootPEM)) },
    _ body: (PusherTestServer, TestProxy, Pusher) async throws -> Void
) async throws {
    let certificates = TestCertificates(.proxied)
    var serverOptions = PusherTestServer.Options()
    if useTLS {
        serverOptions.tls = .init(
            certificateChain: certificates.serverPEM,
            privateKey: certificates.serverKeyPEM
        )
    }
    var proxyOptions = TestProxy.Options()
    proxyOptions.hosts[proxiedName] = serverOptions.host
    serverOptions.allowedHosts = [proxiedName]
    if isProtected { proxyOptions.credentials = .init(username: "ada", password: "hush: ünïque") }
    try await PusherTestServer.withServer(options: serverOptions) { server in
        try await TestProxy.withProxy(options: proxyOptions) { proxy in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    endpoint: PusherEndpoint(host: proxiedName, port: server.port, useTLS: useTLS),
                    authMethod: authMethod(server),
                    timeouts: .patient,
                    retryPolicy: .delays([.milliseconds(20)]),
                    tls: tls(certificates),
                    proxy: .server(
                        host: proxy.host,
                        port: proxy.port,
                        credentials: password.map { .init(username: "ada", password: $0) }
                    ),
                    callbackQueue: .eventLoop,
                    logger: .quiet
                )
            )
            try await body(server, proxy, pusher)
            await pusher.disconnected()
        }
    }
}

func authEndpoint(_ server: PusherTestServer) -> AuthMethod {
    .endpoint(authEndpoint: "\(server.usesTLS ? "https" : "http")://\(proxiedName):\(server.port)/pusher/auth")
}

extension HTTPRequest {
    /// Returns a GET request whose timeout is longer than any test.
    static func get(_ url: String) -> HTTPRequest {
        HTTPRequest(url: url, timeout: .patience, maximumResponseSize: 1_000)
    }
}
