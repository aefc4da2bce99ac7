import RealtimeHTTP

/// An endpoint of your backend that authorizes channels or signs users in, with the settings for the requests.
///
/// The request is a form: `socket_id=…&channel_name=…`, followed by the parameters. If ``isBatching`` is true, the form
/// has `channel_name[]` for each channel. The form of a sign-in names no channel. The answer must have a 2xx status,
/// and its body must be a JSON object. Printing an endpoint shows no headers and no parameters.
public struct AuthEndpoint: Sendable {
    /// The purpose of one request. The client passes the request to the providers.
    public struct Request: Hashable, Sendable {
        /// The id of the connection.
        public let socketID: String
        /// The channels to authorize: one, or several if ``AuthEndpoint/isBatching`` is true. Empty for the sign-in of
        /// a user.
        public let channelNames: [String]

        /// Creates a request, for tests of a provider.
        public init(socketID: String, channelNames: [String] = []) {
            self.socketID = socketID
            self.channelNames = channelNames
        }
    }

    /// A closure that returns header fields for a request. The client calls the provider once for each try, including
    /// retries, but not again for a redirect. The provider may wait for a fresh token.
    ///
    /// If the provider throws an error, the authorization fails with this error as the cause. To request a retry, throw
    /// an ``AuthorizationError`` with a suitable ``AuthorizationError/recovery-swift.property``.
    public typealias HeadersProvider = @Sendable (Request) async throws -> [String: String]
    /// A closure that returns parameters for a request. The client calls the provider once for each try, including
    /// retries, but not again for a redirect. If the provider throws an error, the authorization fails, as with a
    /// ``HeadersProvider``.
    public typealias ParametersProvider = @Sendable (Request) async throws -> Parameters

    /// The address: an `http` or `https` URL.
    public var url: String
    /// The HTTP method, in upper or lower case. `GET` sends the form in the query, and any other method sends the form
    /// in the body. Default: `POST`.
    public var method: String
    /// Header fields of each request. They take precedence over the client's own `Accept` and `Content-Type`. Default:
    /// none.
    public var headers: [String: String]
    /// Parameters of each request. The client sends them after the parameters of the protocol. Default: none.
    public var parameters: Parameters
    /// A closure that returns more header fields. A returned field replaces the field with the same name in
    /// ``headers``. Default: none.
    public var headersProvider: HeadersProvider?
    /// A closure that returns more parameters. A returned parameter replaces the parameters with the same name in
    /// ``parameters``. Default: none.
    public var parametersProvider: ParametersProvider?
    /// The time limit of one request. Redirects count toward this limit, and calls of the providers do not. If the
    /// limit is zero or less, the request fails at once. ``PusherTimeouts/authorization`` limits the whole try,
    /// including the providers, so a longer time has no effect. Default: nil, which means
    /// ``PusherTimeouts/authorization``.
    public var timeout: Duration?
    /// Whether one request can name several channels. Such a request has `channel_name[]` for each channel, and the
    /// answer has a member for each channel: `{"private-a":{"status":200,"data":{"auth":"…"}}}`. Your backend must
    /// support this form. Batching does not affect the sign-in of users. Default: false.
    public var isBatching: Bool
    /// The maximum number of channels in one request, if ``isBatching`` is true. A value below 1 counts as 1. Default:
    /// 100.
    public var maximumBatchSize: Int

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - method: The HTTP method. Default: `POST`.
    ///   - headers: Header fields of each request.
    ///   - parameters: Parameters of each request, sent in this order.
    ///   - timeout: The time limit of one request. Nil means the client's timeout.
    ///   - isBatching: Whether one request can name several channels.
    ///   - maximumBatchSize: The maximum number of channels in one request.
    ///   - headersProvider: A closure that returns more header fields. The client calls it once for each try.
    ///   - parametersProvider: A closure that returns more parameters. The client calls it once for each try.
    public init(
        _ url: String,
        method: String = "POST",
        headers: [String: String] = [:],
        parameters: Parameters = [:],
        timeout: Duration? = nil,
        isBatching: Bool = false,
        maximumBatchSize: Int = 100,
        headersProvider: HeadersProvider? = nil,
        parametersProvider: ParametersProvider? = nil
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.parameters = parameters
        self.headersProvider = headersProvider
        self.parametersProvider = parametersProvider
        self.timeout = timeout
        self.isBatching = isBatching
        self.maximumBatchSize = maximumBatchSize
    }
}

extension AuthEndpoint: ExpressibleByStringLiteral {
    /// Creates an endpoint from its URL.
    public init(stringLiteral url: String) { self.init(url) }
}

extension AuthEndpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URL, without the URL's query and user.
    public var description: String { "AuthEndpoint(\(method) \(HTTPRequest.printable(url: url)))" }

    /// Method and URL, without the URL's query and user.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
