extension PusherTestServer {
    /// The users on a presence channel now, in the order in which they came.
    public func members(of channel: String) -> [Member] { engine.read { $0.presenceMembers(of: channel) } }

    /// Waits until a user is on a presence channel.
    ///
    /// - Parameters:
    ///   - userID: the user's id.
    ///   - channel: the channel's name.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    /// - Throws: ``ServerError`` with ``ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func waitForMember(
        _ userID: String,
        of channel: String,
        timeout: Duration = .seconds(10)
    ) async throws -> Member {
        try await engine.wait(timeout: timeout, for: "user \(userID) on channel \(channel)") {
            members(of: channel).first { $0.userID == userID }
        }
    }

    /// Waits until a user is signed in on at least one connection.
    ///
    /// - Parameters:
    ///   - userID: the user's id.
    ///   - timeout: how long to wait, in real time. Default: 10 s.
    /// - Returns: the connections that the user is signed in on, oldest first.
    /// - Throws: ``ServerError`` with ``ServerError/Code/timeout``, or `CancellationError`.
    @discardableResult
    public func waitForSignIn(of userID: String, timeout: Duration = .seconds(10)) async throws -> [Connection] {
        try await engine.wait(timeout: timeout, for: "a sign-in of user \(userID)") {
            let signedIn = connections.filter { $0.userID == userID }
            return signedIn.isEmpty ? nil : signedIn
        }
    }
}
