import NIOCore
package import PusherTestServer
package import RealtimeHTTP

extension InMemoryRequest {
    /// Creates the in-memory form of a client's request. The form has no address.
    package init(_ request: HTTPRequest) {
        let rest = request.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        self.init(
            method: request.method,
            target: String(rest.drop { $0 != "/" }),
            headers: HTTPHeaderFields(request.headers.fields.map { HTTPHeader(name: $0.name, value: $0.value) }),
            body: ByteBuffer(bytes: request.body ?? [])
        )
    }
}
