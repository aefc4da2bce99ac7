@testable import PusherTestServer

func withServerAndProxy(
    options: PusherTestServer.Options = PusherTestServer.Options(),
    proxyOptions: PusherTestProxy.Options = PusherTestProxy.Options(),
    _ body: (PusherTestServer, PusherTestProxy) async throws -> Void
) async throws {
    try await PusherTestServer.withServer(options: options) { server in
        try await PusherTestProxy.withProxy(options: proxyOptions) { proxy in try await body(server, proxy) }
    }
}

/// What the proxy answers to one request, as text.
func answer(of proxy: PusherTestProxy, to request: String) async throws -> String {
    let client = try await ByteConnection.connect(host: proxy.host, port: proxy.port)
    client.write(request)
    return await client.readText()
}

func tunnelRequest(_ port: Int, _ fields: String = "") -> String {
    "CONNECT 127.0.0.1:\(port) HTTP/1.1\r\n\(fields)\r\n"
}
