/// Makes HTTP requests.
///
/// A response with any status is returned. Only a request without a response throws.
public protocol HttpClient: Sendable {
    /// Sends a request, and returns the body and the status of the response.
    func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse)
}

/// The method of an HTTP request.
public enum HttpMethod: String, Sendable {
    /// Reads.
    case GET
    /// Replaces.
    case PUT
    /// Changes.
    case PATCH
    /// Sends.
    case POST
    /// Ends.
    case DELETE
}

/// A request for an ``HttpClient``.
public struct HttpRequest: Sendable {
    /// The method.
    public var method: HttpMethod
    /// The whole URL. It may be secret.
    public var url: String
    /// The body, or `nil` for an empty one.
    public var content: StringOrData?
    /// Whether the response should be a text or bytes.
    public var responseType: TransferFormat
    /// The header fields. They may be secret.
    public var headers: [String: String]
    /// The time for the whole request, in seconds.
    public var timeout: TimeInterval

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
    /// The status.
    public let statusCode: Int
    /// The values of the header fields `Set-Cookie`. The client sends these cookies with the other requests of the same
    /// connection, so that a load balancer can find the server again.
    public let cookies: [String]

    /// Creates a response.
    public init(statusCode: Int, cookies: [String] = []) {
        self.statusCode = statusCode
        self.cookies = cookies
    }
}

/// A body.
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
}
