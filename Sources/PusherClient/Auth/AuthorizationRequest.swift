/// A request for the signature of a channel on one connection.
public struct AuthorizationRequest: Hashable, Sendable {
    /// The id of the connection. The signature is valid only for this connection.
    public let socketID: String
    /// The name of the channel to authorize.
    public let channelName: String

    /// Creates a request, for tests of an authorizer.
    public init(socketID: String, channelName: String) {
        self.socketID = socketID
        self.channelName = channelName
    }
}
