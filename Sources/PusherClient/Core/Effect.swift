package import PusherProtocol

/// What the machine asks of the shell. Effects are carried out on the event loop in exactly the order they were made.
package enum Effect: Hashable, Sendable {
    // MARK: Socket

    /// Open a socket. All its events are reported with this id.
    case open(AttemptID, TransportRequest)
    /// Send a message on the socket.
    case send(AttemptID, Envelope)
    /// Start the closing handshake.
    case close(AttemptID, CloseCode)
    /// End the socket at once; it is not heard of again.
    case abort(AttemptID)

    // MARK: Timers

    /// Report the id to ``ClientStateMachine/timerFired(_:now:into:)`` after the time given.
    case schedule(TimerID, after: Duration)
    /// Forget the timer.
    case cancel(TimerID)

    // MARK: Questions to user code

    /// Ask the retry policy, and answer with ``ClientStateMachine/retryDecided(_:delay:now:into:)``.
    case askRetryPolicy(RetryQuestionID, RetryContext)

    // MARK: Publications

    /// The state that PusherSwift's delegate knows changed.
    case stateChanged(from: ConnectionState, to: ConnectionState)
    /// The status changed.
    case statusChanged(ConnectionStatus)
    /// Something went wrong that no waiting call is told of, or not alone.
    case report(PusherClientError)

    /// Hand an event to the handlers of all events, and to those of its channel.
    case deliver(ChannelID?, Envelope)
    /// A channel is subscribed; `away` is how long it was not, where it had been before.
    case subscribed(ChannelID, Envelope, away: Duration?)
    /// A channel could not be subscribed. The envelope is the event that its handlers get.
    case subscriptionFailed(ChannelID, PusherClientError, Envelope)
    /// The number of subscriptions changed. The envelope is the event that its handlers get.
    case subscriptionCountChanged(ChannelID, Int, Envelope)
    /// The channel object is out of use: nothing will be delivered to it any more.
    case retired(ChannelID)

    /// The client is out of use: nothing will be told to anybody any more.
    case released

    // MARK: Waiting calls

    /// End a waiting call.
    case resume(WaiterID, WaiterOutcome)
}

/// How a waiting call ends.
package enum WaiterOutcome: Hashable, Sendable {
    /// With the socket id.
    case connected(socketID: String)
    /// Without a value.
    case done
    case failed(PusherClientError)
    /// With `CancellationError`.
    case cancelled
}
