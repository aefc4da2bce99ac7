import PusherProtocol

extension PusherTestServer {
    /// Returns the users on a presence channel now, in the order in which they joined.
    public func members(of channel: String) -> [Member] { engine.read { $0.presenceMembers(of: channel) } }

    /// Waits until a user is on a presence channel.
    ///
    /// - Parameters:
    ///   - userID: The user's id.
    ///   - channel: The channel's name.
    ///   - timeout: The longest wait, in real time. Default: 60 s.
    /// - Throws: ``ServerError`` with ``ServerError/Code/waitTimedOut``, or `CancellationError`.
    @discardableResult
    public func waitForMember(
        _ userID: String,
        of channel: String,
        timeout: Duration = .seconds(60)
    ) async throws -> Member {
        try await engine.wait(timeout: timeout, for: "user \(userID) on channel \(channel)") {
            members(of: channel).first { $0.userID.hasSameBytes(as: userID) }
        }
    }

    /// Waits until a user is signed in on at least one connection that is subscribed to the user's own channel.
    /// Afterwards, ``publish(event:data:toUser:)`` reaches this connection.
    ///
    /// Clients subscribe to the user's own channel after each sign-in. If ``failSubscriptions(to:with:)`` prevents this
    /// subscription, the sign-in is enough. If a client never subscribes to the channel, wait for the sign-in with
    /// ``nextRecord(after:timeout:where:)``.
    ///
    /// - Parameters:
    ///   - userID: The user's id.
    ///   - timeout: The longest wait, in real time. Default: 60 s.
    /// - Returns: The connections that meet the condition, oldest first.
    /// - Throws: ``ServerError`` with ``ServerError/Code/waitTimedOut``, or `CancellationError`.
    @discardableResult
    public func waitForSignIn(of userID: String, timeout: Duration = .seconds(60)) async throws -> [Connection] {
        try await engine.wait(timeout: timeout, for: "user \(userID) to sign in and to subscribe to their own channel")
        {
            let signedIn = engine.read { $0.reachableConnections(ofUser: userID) }
            return signedIn.isEmpty ? nil : signedIn
        }
    }
}
