/// Makes HTTP requests.
package protocol HTTPRequester: Sendable {
    /// The answer, whatever its status, redirects followed. Ends soon when its task is cancelled.
    ///
    /// - Throws: ``HTTPRequestError``, or `CancellationError` if the task was cancelled.
    func response(to request: HTTPRequest) async throws -> HTTPResponse

    /// Ends all requests, and lets no more begin. It may be called more than once.
    func shutdown()
}

package struct HTTPRequest: Hashable, Sendable {
    /// In seconds. Clocks trap if a time is so long that its end has no number.
    package static let maximumTimeout = 86_400

    package var url: String
    package var method: String
    package var headers: HTTPFields
    /// Nil for none, which is not the same as an empty one: that has a `Content-Length`.
    package var body: [UInt8]?
    /// For all of it, redirects included. At most ``maximumTimeout``. Zero or less times out at once.
    package var timeout: Duration
    /// The rest of the answer's body is left out.
    package var maximumResponseSize: Int
    /// Whether a redirect may make a `GET` of it. If not, such a redirect is an error: the answer would be that of another
    /// request.
    package var mayBecomeGET: Bool

    package init(
        url: String,
        method: String = "GET",
        headers: HTTPFields = HTTPFields(),
        body: [UInt8]? = nil,
        timeout: Duration,
        maximumResponseSize: Int,
        mayBecomeGET: Bool = true
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumResponseSize = maximumResponseSize
        self.mayBecomeGET = mayBecomeGET
    }
}

package struct HTTPResponse: Hashable, Sendable {
    package var status: Int
    package var headers: HTTPFields
    package var body: [UInt8]
    /// The body was larger than the request allowed.
    package var isCut: Bool
    /// The URL of the answer, if redirects led away from the request's URL.
    package var url: String?

    package init(status: Int, headers: HTTPFields = HTTPFields(), body: [UInt8] = [], isCut: Bool = false) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isCut = isCut
    }
}

/// Why a request brought no answer.
package struct HTTPRequestError: Error {
    package enum Kind: Hashable, Sendable {
        /// It cannot be sent as it is.
        case invalidRequest
        case timedOut
        /// No connection, or one that ended too early.
        case failed
        /// The server redirects again and again, or to where the request must not go.
        case redirectRefused
        /// ``HTTPRequester/shutdown()`` was called.
        case shutDown
    }

    package var kind: Kind
    /// For people; with nothing secret in it.
    package var message: String
    package var cause: (any Error)?
    /// The URL that failed, if redirects led away from the request's URL.
    package var url: String?
    /// Whether no byte of the request has left: no connection was made for it.
    package var isUnsent = false

    package init(_ kind: Kind, _ message: String, cause: (any Error)? = nil) {
        self.kind = kind
        self.message = message
        self.cause = cause
    }
}
