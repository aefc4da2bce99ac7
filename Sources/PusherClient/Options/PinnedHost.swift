import Foundation
import RealtimeHTTP
import RealtimeNetworking

/// The host of a Pusher server whose key is pinned. The client sends no authorization requests to this host, because
/// the HTTP client cannot check a server's key before it sends a request. An attacker who poses as the server would get
/// the request's secrets.
package struct PinnedHost: Sendable {
    private let name: String

    /// Returns nil if no key is pinned.
    init?(_ server: PusherEndpoint, _ tls: TLSOptions) {
        guard !tls.pins.isEmpty else { return nil }
        name = server.host
    }

    /// Returns the reason to reject requests to a URL; nil if they are allowed. The port does not matter, because an
    /// attacker who can pose as a host can do so on every port.
    func problem(withRequestsTo url: String) -> String? {
        guard let host = URL(string: url)?.host, isHost(host) else { return nil }
        return """
            tls.pins cannot be checked for '\(HTTPRequest.printable(url: url))', which is on the Pusher server's own host. \
            Give the endpoint another host name, use .authorizer or .authenticator with code that checks the key, or \
            remove the pins
            """
    }

    private func isHost(_ other: String) -> Bool {
        let (one, other) = (HostPlace(host: name, port: 0), HostPlace(host: other, port: 0))
        return one.name == other.name || (one.address != nil && one.address == other.address)
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

extension PinnedHost {
    /// Throws an error if an endpoint is on the host.
    func check(_ authMethod: AuthMethod, _ userAuthMethod: UserAuthMethod) throws(PusherClientError) {
        for url in [authMethod.endpointURL, userAuthMethod.endpointURL] {
            guard let url, let problem = problem(withRequestsTo: url) else { continue }
            throw PusherClientError(.invalidOption, "Invalid authorization endpoint: \(problem).")
        }
    }
}
