/// A request for the signature of a channel on one connection.
public struct AuthorizationRequest: Hashable, Sendable {
    /// The id of the connection. The signature is valid for no other.
    public let socketID: String
    /// The channel.
    public let channelName: String

    /// Makes a request, for tests of an authorizer.
    public init(socketID: String, channelName: String) {
        self.socketID = socketID
        self.channelName = channelName
    }
}
