import PusherEncryption

extension UserAuthMethod {
    /// Returns the user's signature, with the `user_data` as `data`. The method never blocks the caller's thread, and
    /// returns soon after its task is cancelled.
    package func authenticate(
        socketID: String,
        in context: AuthorizationContext
    ) async -> Result<Authorization, AuthorizationError> {
        switch self {
        case .endpoint(let endpoint):
            return await EndpointAuthorizer(endpoint: endpoint).authenticate(socketID: socketID, in: context)
        case .authenticator(let authenticate):
            return await Self.ask("the authenticator") {
                let answer = try await authenticate(socketID)
                return Authorization(auth: answer.auth, data: answer.userData)
            }
        case .inline(let secret, let user):
            return await Self.ask("the closure that gives the user") {
                let userData = try await user()
                let signer = ApplicationSigner(key: context.key, secret: secret)
                return Authorization(auth: signer.auth(socketID: socketID, userData: userData), data: userData)
            }
        case .noMethod:
            return .failure(
                AuthorizationError(
                    .noMethod,
                    "Authorization of the user failed: there is no userAuthMethod. Set userAuthMethod in the options, for example "
                        + ".endpoint(\"https://…\")."
                )
            )
        }
    }

    private static func ask(
        _ who: String,
        _ body: @escaping @Sendable () async throws -> Authorization
    ) async -> Result<Authorization, AuthorizationError> {
        switch await UserCode.asynchronously(body) {
        case .success(let authorization): .success(authorization)
        case .failure(let error): .failure(.thrown(error, by: who, .user))
        case nil: .failure(.cancelled(.user))
        }
    }
}
