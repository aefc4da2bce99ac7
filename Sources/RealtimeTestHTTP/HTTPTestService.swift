/// The part of a test server that decides the answers. The request handler calls it on the connection's event loop.
package protocol HTTPTestService: Sendable {
    var limits: HTTPTestLimits { get }
    /// The rules for requests of web pages; `nil` if the server answers every page.
    var crossOriginPolicy: CrossOriginPolicy? { get }

    /// Returns the answer to a request whose body the client sends only after a confirmation (RFC 9110, 10.1.1), if the
    /// server refuses the request without its body.
    func refusal(ofHead request: HTTPTestRequest) -> HTTPTestResponse?

    /// Records a request that the request handler has answered itself: a refusal, or the answer to a preflight.
    func answered(_ request: HTTPTestRequest, status: Int)

    /// Answers a request, now or later. If the request is a valid upgrade to a WebSocket, `exchange.isUpgrade` is true.
    func respond(to request: HTTPTestRequest, _ exchange: HTTPTestExchange)
}

extension HTTPTestService {
    package func refusal(ofHead request: HTTPTestRequest) -> HTTPTestResponse? { nil }
    package func answered(_ request: HTTPTestRequest, status: Int) {}
}

/// The limits for requests.
package struct HTTPTestLimits: Sendable {
    /// The longest body, in bytes. A longer one gets status 413 before the whole body has arrived.
    package var maximumRequestSize: Int
    /// The time from the first byte of a request to its last byte. Then the request gets status 408.
    package var requestTimeout: Duration

    package init(maximumRequestSize: Int = 30_000_000, requestTimeout: Duration = .seconds(30)) {
        self.maximumRequestSize = maximumRequestSize
        self.requestTimeout = requestTimeout
    }
}
