import NIOCore
package import PusherTestServer
package import RealtimeHTTP

extension InMemoryRequest {
    /// The request of a client, without the address of its server.
    package init(_ request: HTTPRequest) {
        let rest = request.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        self.init(
            method: request.method,
            target: String(rest.drop { $0 != "/" }),
            headers: request.headers.fields.map { .init(name: $0.name, value: $0.value) },
            body: ByteBuffer(bytes: request.body ?? [])
        )
    }
}
