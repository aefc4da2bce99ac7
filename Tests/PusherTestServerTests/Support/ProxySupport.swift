import ProxyTestSupport

@testable import PusherTestServer

func withServerAndProxy(
    options: PusherTestServer.Options = PusherTestServer.Options(),
    proxyOptions: TestProxy.Options = TestProxy.Options(),
    _ body: (PusherTestServer, TestProxy) async throws -> Void
) async throws {
    try await PusherTestServer.withServer(options: options) { server in
        try await TestProxy.withProxy(options: proxyOptions) { proxy in try await body(server, proxy) }
    }
}

/// Returns the proxy's answer to one request, as text.
func answer(of proxy: TestProxy, to request: String) async throws -> String {
    let client = try await ByteConnection.connect(host: proxy.host, port: proxy.port)
    client.write(request)
    return await client.readText()
}

func tunnelRequest(_ port: Int, _ fields: String = "") -> String {
    "CONNECT 127.0.0.1:\(port) HTTP/1.1\r\n\(fields)\r\n"
}
