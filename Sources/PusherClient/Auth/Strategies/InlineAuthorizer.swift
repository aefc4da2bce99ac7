import PusherEncryption
import PusherProtocol
import RealtimeJSON

/// An authorizer that makes signatures with the app's secret (protocol clause 8), and the keys of encrypted channels
/// (clause 10).
struct InlineAuthorizer: BuiltInAuthorizer {
    enum MasterKey: Sendable {
        case none
        case unusable
        case key(SecretKey)
    }

    let secret: String
    let masterKey: MasterKey

    init(secret: String, masterKey: MasterKey) {
        self.secret = secret
        self.masterKey = masterKey
    }

    init(secret: String, encryptionMasterKey: String) {
        self.init(secret: secret, masterKey: SecretKey(base64: encryptionMasterKey).map { .key($0) } ?? .unusable)
    }

    var description: String { "inline(…)" }

    func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>] {
        var results: [Result<Authorization, AuthorizationError>] = []
        for request in requests { results.append(await authorize(request, in: context)) }
        return results
    }

    private func authorize(
        _ request: AuthorizationRequest,
        in context: AuthorizationContext
    ) async -> Result<Authorization, AuthorizationError> {
        do throws(AuthorizationError) {
            let kind = ChannelKind(ofChannelNamed: request.channelName)
            var authorization = Authorization(auth: "")
            if kind.base == .presence { authorization.data = try await channelData(for: request, in: context) }
            if kind.base == .privateEncrypted { authorization.sharedSecret = try sharedSecret(for: request) }
            authorization.auth = ApplicationSigner(key: context.key, secret: secret).auth(
                socketID: request.socketID,
                channel: request.channelName,
                channelData: authorization.data
            )
            return .success(authorization)
        } catch {
            return .failure(error)
        }
    }

    private func channelData(
        for request: AuthorizationRequest,
        in context: AuthorizationContext
    ) async throws(AuthorizationError) -> String {
        var writer = JSONWriter()
        writer.write(raw: #"{"user_id":"#)
        if let userDataFetcher = context.userDataFetcher {
            guard let member = await UserCode.value(userDataFetcher) else {
                throw .cancelled(.channel(request.channelName))
            }
            writer.write(string: member.userId)
            if let userInfoText = member.userInfoText {
                writer.write(raw: #","user_info":"#)
                writer.write(raw: userInfoText)
            }
        } else {
            writer.write(string: request.socketID)
        }
        writer.write(raw: "}")
        return writer.text
    }

    private func sharedSecret(for request: AuthorizationRequest) throws(AuthorizationError) -> String {
        switch masterKey {
        case .key(let masterKey):
            return SharedSecret.base64(channel: request.channelName, masterKey: masterKey)
        case .none:
            throw .invalidRequest(
                "an encrypted channel needs the encryption master key. Use .inline(secret:encryptionMasterKey:)",
                .channel(request.channelName)
            )
        case .unusable:
            throw .invalidRequest(
                "the encryption master key is not 32 bytes in base64",
                .channel(request.channelName)
            )
        }
    }
}
