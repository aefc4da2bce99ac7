extension PusherTestServer {
    /// The users on a presence channel now, in the order in which they joined.
    public func members(of channel: String) -> [Member] { engine.read { $0.presenceMembers(of: channel) } }

    /// Waits until a user is on a presence channel.
    ///
    /// - Parameters:
    ///   - userId: the user's id.
    ///   - channel: the channel's name.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    /// - Throws: ``ServerError`` with ``ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func waitForMember(
        _ userId: String,
        of channel: String,
        timeout: Duration = .seconds(10)
    ) async throws -> Member {
        try await engine.wait(timeout: timeout, for: "user \(userId) on channel \(channel)") {
            members(of: channel).first { $0.userId == userId }
        }
    }

    /// Waits until a user is signed in on at least one connection, and that connection is subscribed to the user's own
    /// channel. From then on, ``publish(event:data:toUser:)`` reaches it.
    ///
    /// Clients subscribe to that channel after each sign-in. If ``failSubscriptions(to:with:)`` makes this server
    /// reject it, the sign-in is enough. To wait for the sign-in of a client that never subscribes to it, use
    /// ``nextRecord(after:timeout:where:)``.
    ///
    /// - Parameters:
    ///   - userId: the user's id.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    /// - Returns: these connections, oldest first.
    /// - Throws: ``ServerError`` with ``ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func waitForSignIn(of userId: String, timeout: Duration = .seconds(10)) async throws -> [Connection] {
        try await engine.wait(timeout: timeout, for: "user \(userId) to sign in, with their own channel") {
            let signedIn = engine.read { $0.reachableConnections(ofUser: userId) }
            return signedIn.isEmpty ? nil : signedIn
        }
    }
}
