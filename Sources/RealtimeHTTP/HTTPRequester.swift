/// Makes HTTP requests.
package protocol HTTPRequester: Sendable {
    /// The answer, whatever its status, after following redirects. Ends soon when its task is cancelled.
    ///
    /// - Throws: ``HTTPRequestError``, or `CancellationError` if the task was cancelled.
    func response(to request: HTTPRequest) async throws -> HTTPResponse

    /// Ends all requests, and refuses new ones. It may be called more than once.
    func shutdown()
}

package struct HTTPRequest: Hashable, Sendable {
    /// In seconds. Clocks trap if a time is too long to represent its end.
    package static let maximumTimeout = 86_400

    package var url: String
    package var method: String
    package var headers: HTTPFields
    /// Nil for no body. An empty body has a `Content-Length`.
    package var body: [UInt8]?
    /// The time for the whole request, including redirects. At most ``maximumTimeout``. Zero or less times out at once.
    package var timeout: Duration
    /// The most bytes of the answer's body. The rest is left out.
    package var maximumResponseSize: Int
    /// Whether a redirect may change it to a `GET`. If not, such a redirect is an error: the answer would be that of
    /// another request.
    package var mayBecomeGET: Bool
    /// Whether a stream may use the connection of an earlier one. That connection may be dead, or the server may be about to
    /// close it, so this is for requests that do no harm if they fail. Default: false.
    package var sharesConnection = false

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
        /// The request is invalid.
        case invalidRequest
        case timedOut
        /// There was no connection, or it ended too early.
        case failed
        /// The server redirects too often, or to a place where the request must not go.
        case redirectRefused
        /// ``HTTPRequester/shutdown()`` was called.
        case shutDown
    }

    package var kind: Kind
    /// A text for people, without secrets.
    package var message: String
    package var cause: (any Error)?
    /// The URL that failed, if redirects led away from the request's URL.
    package var url: String?
    /// Whether no byte of the request was sent, because there was no connection.
    package var isUnsent = false

    package init(_ kind: Kind, _ message: String, cause: (any Error)? = nil) {
        self.kind = kind
        self.message = message
        self.cause = cause
    }
}
