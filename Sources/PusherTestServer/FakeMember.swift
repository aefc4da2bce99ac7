import PusherProtocol

extension PusherTestServer {
    /// A simulated member of a presence channel, without a connection. See ``join(_:in:userInfo:)``.
    public struct FakeMember: Sendable {
        /// The member's user id.
        public let userID: String
        /// The name of the presence channel.
        public let channel: String
        /// The socket id of this member in records. No connection has this id.
        public let socketID: String

        let id: ConnectionID
        let engine: ServerEngine

        /// Sends a client event to the channel's other subscribers, as if a client had sent it.
        ///
        /// The options that limit client events do not apply. Does nothing after ``leave()``, or after the server was
        /// shut down.
        ///
        /// - Parameters:
        ///   - event: The event's name: 1 to 200 bytes that begin with `client-`.
        ///   - data: JSON text, which the server sends as a JSON value. The server sends any other text as a string.
        ///     Default: `{}`.
        /// - Returns: The number of connections that get the event. Silent connections do not count.
        /// - Throws: ``ServerError`` with ``ServerError/Code/invalidEvent``.
        @discardableResult
        public func send(_ event: String, data: String = "{}") throws -> Int {
            guard EventName.isClientEvent(event), event.utf8.count <= EventName.maximumLength else {
                let rule = "the name must begin with \"client-\" and have at most \(EventName.maximumLength) bytes"
                throw ServerError(.invalidEvent, "Invalid client event \"\(event)\": \(rule).")
            }
            var reached: Set<ConnectionID> = []
            engine.step { brain in brain.sendClientEvent(event, data, asFakeMember: id, on: channel, &reached) }
            return reached.count
        }

        /// Leaves the channel. The other subscribers get `member_removed`, unless the same user has another connection.
        /// Does nothing if the member has already left.
        public func leave() {
            engine.step { brain in brain.removeFakeMember(id, from: channel) }
        }
    }

    /// Adds a simulated member to a presence channel. The subscribers get `member_added`, as for any member.
    ///
    /// ```swift
    /// let bob = try server.join("bob", in: "presence-room", userInfo: #"{"name":"Bob"}"#)
    /// try bob.send("client-typing")
    /// bob.leave()
    /// ```
    /// The member stays until ``FakeMember/leave()`` or ``shutdown()``. Connection faults do not affect the member.
    ///
    /// - Parameters:
    ///   - userID: The member's user id: 1 to 128 bytes.
    ///   - channel: The name of a presence channel.
    ///   - userInfo: The member's data as JSON text. Default: nil, for no data.
    /// - Throws: ``ServerError`` with ``ServerError/Code/invalidMember`` if the channel is not a presence channel, or
    ///   if the id or the data is invalid. Throws the same error if the channel already has
    ///   ``Options/maximumMemberCount`` members.
    @discardableResult
    public func join(_ userID: String, in channel: String, userInfo: String? = nil) throws -> FakeMember {
        var newID: ConnectionID?
        var failure = ServerError(.invalidMember, "Member \"\(userID)\" cannot join: the server has stopped.")
        engine.step { brain in
            do throws(ServerError) {
                return try brain.addFakeMember(userID: userID, userInfo: userInfo, to: channel, &newID)
            } catch {
                failure = error
                return []
            }
        }
        guard let id = newID else { throw failure }
        let socketID = engine.read { brain in brain.socketID(of: id) }
        return FakeMember(userID: userID, channel: channel, socketID: socketID, id: id, engine: engine)
    }
}
