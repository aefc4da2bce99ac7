/// For applications that know something which the client does not: they are in the foreground again, or the network has
/// changed.
extension Pusher {
    /// Finds out now whether the connection is still there: when the application comes back to the foreground, or the
    /// network has changed.
    ///
    /// Where there is a connection the server is asked for a sign of life; where none comes in time, a new connection is made,
    /// as after any loss. Where the client waits before another attempt, that attempt is made now. Where nothing is wanted, because
    /// nobody connected or the server has refused, nothing happens. Returns at once; see ``statuses`` for what comes of it.
    ///
    /// - Parameter timeout: How long the server may take to answer, if that is less than
    ///   ``PusherClientOptions/Timeouts-swift.struct/pong``; zero or less counts as a millisecond. Default: 5 s.
    public func checkConnection(timeout: Duration = .seconds(5)) {
        engine.step { state, now in
            state.machine.checkConnection(
                timeout: max(timeout, .milliseconds(1)),
                now: now,
                into: &state.pending
            )
        }
    }

    /// Makes a new connection at once, in whatever state the client is, without waiting for a timeout or for the end of the
    /// old one; channels are subscribed again. Where ``disconnect()`` was called, or the server has refused, it connects.
    ///
    /// A connection that stands is given up for it, without a closing handshake: ask ``checkConnection(timeout:)`` first,
    /// unless you know that it is dead.
    public func reconnectNow() {
        engine.step { state, now in state.machine.reconnectNow(now: now, into: &state.pending) }
    }
}
