import RealtimeHTTP
import RealtimeNetworking

extension TLSOptions {
    /// Throws an error if keys are pinned and an authorization endpoint would get a request. The requester rejects such
    /// requests too, but this error comes before the first connection.
    func checkPins(for authMethod: AuthMethod, _ userAuthMethod: UserAuthMethod) throws(PusherClientError) {
        for url in [authMethod.endpointURL, userAuthMethod.endpointURL] {
            guard let url else { continue }
            do throws(HTTPRequestError) {
                try checkPins(forRequestTo: url)
            } catch {
                throw PusherClientError(
                    .invalidOption,
                    "Invalid authorization endpoint: \(error.message). \(AuthorizationError.adviceForPins)."
                )
            }
        }
    }
}

extension AuthMethod {
    /// The address of the endpoint, if the client knows it before it makes a request.
    fileprivate var endpointURL: String? {
        switch self {
        case .endpoint(let url): url
        case .authorizer(let authorizer as EndpointAuthorizer): authorizer.endpoint.url
        case .authorizer, .authRequestBuilder, .inline, .noMethod: nil
        }
    }
}

extension UserAuthMethod {
    fileprivate var endpointURL: String? {
        switch self {
        case .endpoint(let endpoint): endpoint.url
        case .authenticator, .inline, .noMethod: nil
        }
    }
}

extension AuthorizationError {
    static let adviceForPins =
        "Use .authorizer or .authenticator with code that checks the key, or remove the pins"
}
