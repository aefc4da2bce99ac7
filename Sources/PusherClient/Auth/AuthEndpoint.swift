import RealtimeHTTP

/// An endpoint of your backend that authorizes channels, or signs users in, and what is sent to it.
///
/// The request is a form: `socket_id=…&channel_name=…` and the parameters, for a sign-in without `channel_name`. The
/// answer is a JSON object with status 2xx. Printing an endpoint shows no headers and no parameters.
public struct AuthEndpoint: Sendable {
    /// The reason for one request. The providers get it.
    public struct Request: Hashable, Sendable {
        /// The id of the connection.
        public let socketID: String
        /// The channels to authorize: one, several where ``AuthEndpoint/isBatching`` is true, none for the sign-in of a
        /// user.
        public let channelNames: [String]

        /// Makes a request, for tests of a provider.
        public init(socketID: String, channelNames: [String] = []) {
            self.socketID = socketID
            self.channelNames = channelNames
        }
    }

    /// Gives header fields for a request. Asked before each one, a retry included, and may wait for a fresh token.
    ///
    /// What it throws ends the authorization, as its cause. To be asked again if another try can help, throw an
    /// ``AuthorizationError`` whose ``AuthorizationError/recovery-swift.property`` says so.
    public typealias HeadersProvider = @Sendable (Request) async throws -> [String: String]
    /// Gives parameters for a request. Asked before each one, a retry included; what it throws ends the authorization,
    /// as with a ``HeadersProvider``.
    public typealias ParametersProvider = @Sendable (Request) async throws -> Parameters

    /// The address: an `http` or `https` URL.
    public var url: String
    /// The HTTP method, in any case. `GET` puts the form into the query, every other one into the body. Default:
    /// `POST`.
    public var method: String
    /// Header fields of each request. They stand before the client's own `Accept` and `Content-Type`. Default: none.
    public var headers: [String: String]
    /// Parameters of each request, sent after the protocol's own. Default: none.
    public var parameters: Parameters
    /// Gives more header fields, which replace those of ``headers`` that have the same name. Default: none.
    public var headersProvider: HeadersProvider?
    /// Gives more parameters, which replace those of ``parameters`` that have the same name. Default: none.
    public var parametersProvider: ParametersProvider?
    /// How long one request may take, redirects included, and the providers not; zero or less fails at once. Nil, or
    /// longer than ``PusherTimeouts/authorization``, has no effect: that is for the whole
    /// try, providers included. Default: nil.
    public var timeout: Duration?
    /// Whether one request asks for several channels: `channel_name[]` stands in it for each, and the answer is keyed
    /// by channel, `{"private-a":{"status":200,"data":{"auth":"…"}}}`. Your backend has to know this form. It does not
    /// concern the sign-in of users. Default: false.
    public var isBatching: Bool
    /// The most channels of one request, if ``isBatching`` is true; less than 1 counts as 1. Default: 100.
    public var maximumBatchSize: Int

    /// Describes an endpoint.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - method: The HTTP method. Default: `POST`.
    ///   - headers: Header fields of each request.
    ///   - parameters: Parameters of each request, sent in this order.
    ///   - timeout: How long one request may take; nil, or longer, for the client's timeout.
    ///   - isBatching: Whether one request asks for several channels.
    ///   - maximumBatchSize: The most channels of one request.
    ///   - headersProvider: Gives more header fields, before each request.
    ///   - parametersProvider: Gives more parameters, before each request.
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
    /// An endpoint of which only the URL is to be said.
    public init(stringLiteral url: String) { self.init(url) }
}

extension AuthEndpoint: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URL, without the URL's query and user.
    public var description: String { "AuthEndpoint(\(method) \(HTTPRequest.printable(url: url)))" }

    /// Method and URL, without the URL's query and user.
    public var debugDescription: String { description }

    /// Nothing: what `dump` shows beside the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
