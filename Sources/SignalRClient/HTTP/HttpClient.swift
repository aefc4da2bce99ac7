import RealtimeHTTP

/// A client that makes HTTP requests.
///
/// The client returns a response regardless of its status, and throws only if there is no response.
public protocol HttpClient: Sendable {
    /// Sends a request, and returns the body and the status of the response.
    func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse)
}

/// The method of an HTTP request.
public enum HttpMethod: String, Sendable {
    /// `GET`, for reading.
    case GET
    /// `PUT`, for replacing.
    case PUT
    /// `PATCH`, for changing.
    case PATCH
    /// `POST`, for sending.
    case POST
    /// `DELETE`, for deleting.
    case DELETE
}

/// A request for an ``HttpClient``.
public struct HttpRequest: Sendable {
    /// The HTTP method.
    public var method: HttpMethod
    /// The whole URL, which may be secret.
    public var url: String
    /// The body, or `nil` for an empty body.
    public var content: StringOrData?
    /// The kind of body that the caller expects in the response: text or bytes.
    public var responseType: TransferFormat
    /// The header fields, which may be secret.
    public var headers: [String: String]
    /// The time for the whole request, in seconds.
    public var timeout: TimeInterval
    /// The maximum size of the response's body, in bytes; `nil` for the size that a transport delivers at once.
    var maximumResponseSize: Int?

    /// Creates a request.
    public init(
        method: HttpMethod,
        url: String,
        content: StringOrData? = nil,
        responseType: TransferFormat = .text,
        headers: [String: String]? = nil,
        timeout: TimeInterval? = nil
    ) {
        self.method = method
        self.url = url
        self.content = content
        self.responseType = responseType
        self.headers = headers ?? [:]
        self.timeout = timeout ?? 100
    }
}

/// A response without its body.
public struct HttpResponse: Sendable {
    /// The HTTP status.
    public let statusCode: Int
    /// The values of the header fields `Set-Cookie`. The client sends these cookies with later requests of the same
    /// connection, because a load balancer may need them to find the same server.
    public let cookies: [String]
    /// The minimum wait, from the header field `Retry-After`, before the client tries again.
    var retryAfter = Duration.zero

    /// Creates a response.
    public init(statusCode: Int, cookies: [String] = []) {
        self.statusCode = statusCode
        self.cookies = cookies
    }
}

/// A body. Printing a body shows only its kind and size, because bodies may contain tokens.
public enum StringOrData: Sendable, Equatable {
    /// A text.
    case string(String)
    /// Bytes.
    case data(Data)
}

extension StringOrData {
    var bytes: [UInt8] {
        switch self {
        case .string(let text): Array(text.utf8)
        case .data(let data): Array(data)
        }
    }

    private var kind: String { if case .string = self { "text" } else { "data" } }
}

extension HttpRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, and the URL without user, password and query. Header fields, bodies and queries may be secret.
    public var description: String { "\(method.rawValue) \(HTTPRequest.printable(url: url))" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HttpResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status. Cookies may be secret.
    public var description: String { "status \(statusCode)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension StringOrData: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind and the size.
    public var description: String { "\(kind) of \(bytes.count) bytes" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
