/// Answers authorization requests, and says why if it cannot.
public protocol AsyncAuthorizer: Authorizer {
    /// The authorization of one channel. Called once for each try. The task is cancelled when the client no longer
    /// needs the answer.
    ///
    /// - Throws: An ``AuthorizationError`` to say what the backend answered and whether asking again can help. After
    ///   any other error, the client does not try again. The error becomes the cause of the failure.
    func authorize(_ request: AuthorizationRequest) async throws -> PusherAuth
}

extension AsyncAuthorizer {
    /// Returns the result of ``authorize(_:)``, or nil if it throws. The client does not call it.
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

/// Answers authorization requests for several channels at once. They come up together after each reconnect.
public protocol BatchAuthorizer: AsyncAuthorizer {
    /// The most channels in one call. Less than 1 counts as 1. Default: 100.
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

    /// Authorizes a batch of one.
    public func authorize(_ request: AuthorizationRequest) async throws -> PusherAuth {
        let results = try await authorize([request])
        guard let result = results[request.channelName] else {
            throw AuthorizationError.missing(request.channelName, in: Self.self)
        }
        return try result.get()
    }
}

extension AuthorizationError {
    /// Makes the error for an authorizer that gave no result for a channel of a batch.
    static func missing(_ channelName: String, in authorizer: Any.Type) -> AuthorizationError {
        AuthorizationError(
            .authorizerFailed,
            "Authorization of channel '\(channelName)' failed: the authorizer '\(authorizer)' gave no result for it. "
                + "Return one for each channel of the batch, keyed by the channel's name."
        )
    }
}
