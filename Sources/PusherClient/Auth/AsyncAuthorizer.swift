/// Answers authorization requests, and says why if it cannot.
public protocol AsyncAuthorizer: Authorizer {
    /// The authorization of one channel. Asked once for each try; its task is cancelled when nobody waits for the
    /// answer any more.
    ///
    /// - Throws: An ``AuthorizationError`` to say what the backend answered and whether asking again can help. Anything
    ///   else becomes the cause of an error that is not asked about again.
    func authorize(_ request: AuthorizationRequest) async throws -> PusherAuth
}

extension AsyncAuthorizer {
    /// Gives what ``authorize(_:)`` gives, and nil if it throws. The client does not call it.
    public func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    ) {
        Task {
            completionHandler(
                try? await authorize(AuthorizationRequest(socketID: socketID, channelName: channelName))
            )
        }
    }
}

/// Answers authorization requests for several channels at once, as they come up when a connection is made again.
public protocol BatchAuthorizer: AsyncAuthorizer {
    /// The most channels of one call; less than 1 counts as 1. Default: 100.
    var maximumBatchSize: Int { get }

    /// The authorizations of some channels of one connection.
    ///
    /// - Returns: A result for each channel, keyed by its name. A channel that is missing fails.
    /// - Throws: If no channel has an answer; see ``AsyncAuthorizer/authorize(_:)``.
    func authorize(_ requests: [AuthorizationRequest]) async throws -> [String: Result<PusherAuth, any Error>]
}

extension BatchAuthorizer {
    /// 100.
    public var maximumBatchSize: Int { 100 }

    /// A batch of one.
    public func authorize(_ request: AuthorizationRequest) async throws -> PusherAuth {
        let results = try await authorize([request])
        guard let result = results[request.channelName] else {
            throw AuthorizationError.missing(request.channelName, in: Self.self)
        }
        return try result.get()
    }
}

extension AuthorizationError {
    /// For an authorizer that left a channel of a batch out.
    static func missing(_ channelName: String, in authorizer: Any.Type) -> AuthorizationError {
        AuthorizationError(
            .authorizerFailed,
            "the authorizer \(authorizer) gave no result for channel '\(channelName)'; "
                + "its answer to a batch must have one for each channel, keyed by the channel's name"
        )
    }
}
