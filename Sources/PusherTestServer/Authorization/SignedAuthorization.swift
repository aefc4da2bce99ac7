import PusherEncryption
import PusherProtocol
import RealtimeJSON

extension PusherTestServer {
    /// A backend's signed answer to a client that wants to subscribe or to sign in.
    public struct SignedAuthorization: Hashable, Sendable {
        /// The application's key, a colon, and the signature.
        public var auth: String
        /// The user on a presence channel, as JSON text. The signature covers this text.
        public var channelData: String?
        /// The key of an encrypted channel, in base64.
        public var sharedSecret: String?
        /// The user who signs in, as JSON text. The signature covers this text.
        public var userData: String?

        /// The answer's body.
        public var jsonText: String {
            let members = [
                ("auth", auth), ("channel_data", channelData), ("shared_secret", sharedSecret), ("user_data", userData),
            ]
            return JSONWriter.object(members.compactMap { name, value in value.map { (name, JSONWriter.string($0)) } })
        }
    }
}

extension PusherTestServer.SignedAuthorization: CustomStringConvertible, CustomReflectable {
    /// A description without the signature and the key.
    public var description: String { "SignedAuthorization(…)" }
    /// A mirror without the signature and the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PusherTestServer.Application {
    var signer: ApplicationSigner { ApplicationSigner(key: key, secret: secret) }

    func authorization(
        socketID: String,
        channel: String,
        channelData: String?,
        masterKey: SecretKey?
    ) -> PusherTestServer.SignedAuthorization {
        let isEncrypted = ChannelKind(ofChannelNamed: channel).base == .privateEncrypted
        return PusherTestServer.SignedAuthorization(
            auth: signer.auth(socketID: socketID, channel: channel, channelData: channelData),
            channelData: channelData,
            sharedSecret: isEncrypted ? masterKey.map { SharedSecret.base64(channel: channel, masterKey: $0) } : nil
        )
    }

    func authentication(socketID: String, userData: String) -> PusherTestServer.SignedAuthorization {
        PusherTestServer.SignedAuthorization(
            auth: signer.auth(socketID: socketID, userData: userData),
            userData: userData
        )
    }
}
