import RealtimeHTTP

/// An endpoint of your backend that authorizes channels or signs users in, and the content of the requests.
///
/// The request is a form: `socket_id=…&channel_name=…` and the parameters, for a sign-in without `channel_name`. The
/// answer is a JSON object with status 2xx. Printing an endpoint shows no headers and no parameters.
public struct AuthEndpoint: Sendable {
    /// What one request is for. The providers get it.
    public struct Request: Hashable, Sendable {
        /// The id of the connection.
        public let socketID: String
        /// The channels to authorize: one, several if ``AuthEndpoint/isBatching`` is true, none for the sign-in of a
        /// user.
        public let channelNames: [String]

        /// Makes a request, for tests of a provider.
        public init(socketID: String, channelNames: [String] = []) {
            self.socketID = socketID
            self.channelNames = channelNames
        }
    }

    /// Returns header fields for a request. Called before each request, including retries. It may wait for a fresh
    /// token.
    ///
    /// If it throws, the authorization fails with that error as the cause. To request another try, throw an
    /// ``AuthorizationError`` with a suitable ``AuthorizationError/recovery-swift.property``.
    public typealias HeadersProvider = @Sendable (Request) async throws -> [String: String]
    /// Returns parameters for a request. Called before each request, including retries. If it throws, the authorization
    /// fails, as with a ``HeadersProvider``.
    public typealias ParametersProvider = @Sendable (Request) async throws -> Parameters

    /// The address: an `http` or `https` URL.
    public var url: String
    /// The HTTP method, in upper or lower case. `GET` sends the form in the query, all others in the body. Default:
    /// `POST`.
    public var method: String
    /// Header fields of each request. They come before the client's own `Accept` and `Content-Type`. Default: none.
    public var headers: [String: String]
    /// Parameters of each request, sent after the protocol's own. Default: none.
    public var parameters: Parameters
    /// Returns more header fields, which replace those in ``headers`` with the same names. Default: none.
    public var headersProvider: HeadersProvider?
    /// Returns more parameters, which replace those in ``parameters`` with the same names. Default: none.
    public var parametersProvider: ParametersProvider?
    /// How long one request may take, including redirects but not the providers. Zero or less fails at once. Nil, or
    /// longer than ``PusherTimeouts/authorization``, has no effect, because that limits the whole try, including the
    /// providers. Default: nil.
    public var timeout: Duration?
    /// Whether one request names several channels. It then has `channel_name[]` for each, and the answer is keyed by
    /// channel, `{"private-a":{"status":200,"data":{"auth":"…"}}}`. Your backend must support this form. It does not
    /// affect the sign-in of users. Default: false.
    public var isBatching: Bool
    /// The most channels in one request, if ``isBatching`` is true. Less than 1 counts as 1. Default: 100.
    public var maximumBatchSize: Int

    /// Describes an endpoint.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - method: The HTTP method. Default: `POST`.
    ///   - headers: Header fields of each request.
    ///   - parameters: Parameters of each request, sent in this order.
    ///   - timeout: How long one request may take. Nil, or a longer time, means the client's timeout.
    ///   - isBatching: Whether one request names several channels.
    ///   - maximumBatchSize: The most channels in one request.
    ///   - headersProvider: Returns more header fields, before each request.
    ///   - parametersProvider: Returns more parameters, before each request.
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
    /// Makes an endpoint from its URL.
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
