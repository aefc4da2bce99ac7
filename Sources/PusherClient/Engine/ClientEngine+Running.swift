import NIOCore

extension ClientEngine {
    /// What goes on for the client just now; nothing of it may be left when it has disconnected.
    package struct Running: Hashable, Sendable {
        package var timers: Int
        package var sockets: Int
        /// Requests for authorizations.
        package var authorizations: Int

        package static let nothing = Running(timers: 0, sockets: 0, authorizations: 0)
    }

    /// To be asked on the event loop.
    package var running: Running {
        Running(
            timers: loopState.value.timers.count,
            sockets: loopState.value.connections.count,
            authorizations: loopState.value.authorizations.count
        )
    }
}
