import Foundation
import RealtimePrimitives

/// Makes HTTP requests.
package protocol HTTPRequester: Sendable {
    /// Sends a request, follows redirects, and returns the answer regardless of its status. If the task is cancelled,
    /// the call throws at once.
    ///
    /// - Throws: ``HTTPRequestError`` if the request is invalid or gets no answer, or `CancellationError` if the task was
    ///   cancelled.
    func response(to request: HTTPRequest) async throws -> HTTPResponse

    /// Closes the idle connections. The connections of running requests are not used for other requests, and end with
    /// their requests. A later request makes a new connection.
    func retireConnections()

    /// Cancels all requests, and rejects new requests. Later calls have no effect.
    func shutdown()
}

extension HTTPRequester {
    /// Does nothing, because a requester of a test may have no connections.
    package func retireConnections() {}
}

package struct HTTPRequest: Hashable, Sendable {
    /// The longest timeout in seconds. Some clocks trap if they cannot represent the end of a longer timeout.
    package static let maximumTimeout = 86_400

    package var url: String
    package var method: String
    package var headers: HTTPFields
    /// The body; nil for a request without a body. A request with an empty body has a `Content-Length` field.
    package var body: [UInt8]?
    /// The time for the whole request, including redirects, up to ``maximumTimeout``. A request with zero or less times
    /// out at once.
    package var timeout: Duration
    /// The maximum size of the answer's body, in bytes. The requester drops the rest.
    package var maximumResponseSize: Int
    /// Whether a redirect may change the request to a `GET`. If not, such a redirect is an error, because the server
    /// would answer a different request.
    package var mayBecomeGET: Bool
    /// Whether the requester follows redirects of ``HTTPRequester/response(to:)``. Default: true.
    package var followsRedirects = true
    /// Whether a stream may use the connection of an earlier stream. An earlier connection may be dead, or the server
    /// may be about to close it. Set the property to `true` only for requests that may fail without harm. Default:
    /// false.
    package var sharesConnection = false
    /// Whether the client may send the request again if it loses a connection that had served another request, before
    /// the answer begins. Default: the method decides, and a `POST` is not repeated.
    package var isRepeatable: Bool?

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

extension HTTPRequest {
    /// The request as the client sends it. The server may not compress the response, because the client reads only
    /// uncompressed responses. A user and a password in the URL become Basic authorization, unless the request has this
    /// field.
    var prepared: HTTPRequest {
        var request = self
        request.headers.setIfMissing("Accept-Encoding", "identity")
        guard url.utf8.contains(UInt8(ascii: "@")), var components = URLComponents(string: url),
            components.user != nil || components.password != nil
        else { return request }
        let credentials = "\(components.user ?? ""):\(components.password ?? "")"
        request.headers.setIfMissing("Authorization", "Basic \(Data(credentials.utf8).base64EncodedString())")
        (components.user, components.password) = (nil, nil)
        request.url = components.string ?? url
        return request
    }
}

package struct HTTPResponse: Hashable, Sendable {
    package var status: Int
    package var headers: HTTPFields
    package var body: [UInt8]
    /// Whether the body was larger than the request allowed.
    package var isCut: Bool
    /// The URL of the last request, if the requester followed redirects.
    package var url: String?
    /// The compression of the body, in the server's words; nil if the body is not compressed.
    package var compression: String? {
        let encoding = headers["Content-Encoding"]?.lowercased() ?? ""
        return encoding.isEmpty || encoding == "identity" ? nil : encoding.prefix(fittingUTF8Bytes: 100)
    }

    package init(status: Int, headers: HTTPFields = HTTPFields(), body: [UInt8] = [], isCut: Bool = false) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isCut = isCut
    }
}

/// The reason why a request got no answer.
package struct HTTPRequestError: Error {
    package enum Kind: Hashable, Sendable {
        /// The request is invalid.
        case invalidRequest
        /// The server's key is not pinned. The client has sent nothing.
        case pinMismatch
        case timedOut
        /// The client made no connection, or lost the connection before it had the whole answer.
        case failed
        /// The server redirects too often, without a location, or to a request that the client must not make.
        case redirectRefused
        /// ``HTTPRequester/shutdown()`` was called.
        case shutDown
    }

    package var kind: Kind
    /// A message for people, without secrets.
    package var message: String
    package var cause: (any Error)?
    /// The URL that failed, if the requester followed redirects or streams the response.
    package var url: String?
    /// Whether the request failed before the client sent any byte, because there was no connection.
    package var isUnsent = false
    /// Whether the connection had served another request. So the server speaks HTTP, and may have closed the connection
    /// while it was unused.
    package var isOfKeptConnection = false

    package init(_ kind: Kind, _ message: String, cause: (any Error)? = nil) {
        self.kind = kind
        self.message = message
        self.cause = cause
    }

    /// A sentence for the end of a message, if the server may have expected TLS: the client reached the server without
    /// TLS, and got no answer of HTTP. Otherwise empty.
    package func adviceAboutTLS(for url: String) -> String {
        guard kind == .failed, !isUnsent, !isOfKeptConnection, url.lowercased().hasPrefix("http:") else { return "" }
        return " Use https if the port expects TLS."
    }
}
