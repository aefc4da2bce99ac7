extension PusherTestServer {
    /// Makes requests to the authorization endpoints fail, until ``acceptAuthorizations()``.
    ///
    /// The server still calls ``Options/authorizeChannel`` and ``Options/authenticateUser`` for these requests.
    /// - Parameters:
    ///   - count: The number of requests. The server answers later requests as usual. Default: nil, for all requests. A
    ///     later call takes effect after earlier calls with a count. A later call replaces an earlier call without a
    ///     count for the same channel.
    ///   - channel: The channel whose requests fail. Default: nil, for every request to either endpoint.
    ///   - fault: The answer to these requests.
    public func failAuthorizations(
        _ count: Int? = nil,
        for channel: String? = nil,
        with fault: AuthorizationFault
    ) {
        let target = channel.map { AuthorizationTarget.channel($0) } ?? .all
        engine.step { brain in brain.failAuthorizations(count: count, of: target, with: fault) }
    }

    /// Makes requests to `/pusher/user-auth` fail, until ``acceptAuthorizations()``.
    ///
    /// - Parameters:
    ///   - count: The number of requests. The server answers later requests as usual. Default: nil, for all requests.
    ///   - fault: The answer to these requests.
    public func failUserAuthentications(_ count: Int? = nil, with fault: AuthorizationFault) {
        engine.step { brain in brain.failAuthorizations(count: count, of: .users, with: fault) }
    }

    /// Ends the faults of ``failAuthorizations(_:for:with:)`` and ``failUserAuthentications(_:with:)``. Unanswered
    /// requests stay unanswered.
    public func acceptAuthorizations() {
        engine.step { brain in brain.acceptAuthorizations() }
    }

    /// The requests that the authorization endpoints have received, oldest first, with their header fields and the
    /// bytes of their bodies.
    public var authorizationRequests: [Request] {
        records.compactMap { record in
            guard case .authorizationRequested(let request) = record.event else { return nil }
            return request
        }
    }
}
