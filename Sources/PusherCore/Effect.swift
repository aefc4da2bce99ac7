package import PusherProtocol

/// One task for the shell. The shell runs effects on the event loop, in the order in which they were made.
package enum Effect: Hashable, Sendable {
    // MARK: Socket

    /// Open a socket. All its events are reported with this id.
    case open(AttemptID, TransportRequest)
    /// Send a message on the socket. When it is written, call ``ClientStateMachine/wrote(on:now:)``; the same applies
    /// to the next two cases.
    case send(AttemptID, Envelope)
    /// Send a client event on the socket, and say whether it was written:
    /// ``ClientStateMachine/clientEventWritten(_:on:error:mayHaveArrived:now:into:)``.
    case sendClientEvent(AttemptID, ClientEventQueue.Item)
    /// Send a message of the app's own on the socket, and report an error if it could not be written.
    case sendMessage(AttemptID, Envelope)
    /// Start the closing handshake.
    case close(AttemptID, CloseCode)
    /// Close the socket at once. None of its events are reported afterwards. `isSilent` means that no data arrived for too
    /// long, although the machine was not suspended.
    case abort(AttemptID, isSilent: Bool = false)

    // MARK: Timers

    /// Report the id to ``ClientStateMachine/timerFired(_:now:into:)`` after the time given.
    case schedule(TimerID, after: Duration)
    /// Forget the timer.
    case cancel(TimerID)

    // MARK: Questions to the app's code

    /// Ask the retry policy, and answer with ``ClientStateMachine/retryDecided(_:delay:now:into:)``.
    case askRetryPolicy(RetryQuestionID, RetryQuestion)
    /// Call ``ClientStateMachine/authorizationsGathered(batchSize:now:into:)`` in another turn of the loop.
    case gatherAuthorizations
    /// Make one request to the authorizer, for several channels or for the user, and answer each try with
    /// ``ClientStateMachine/authorized(_:_:now:into:)``.
    case authorize([AuthorizationTry: AuthorizationQuestion])
    /// Cancel a try whose answer is no longer needed.
    case cancelAuthorization(AuthorizationTry)

    // MARK: Publications

    /// The state that PusherSwift's delegate knows changed.
    case stateChanged(from: ConnectionState, to: ConnectionState)
    /// The status changed.
    case statusChanged(ConnectionStateMachine.Status)
    /// Report an error that no waiting call gets, or that is reported in addition.
    case report(PusherClientError)

    /// Deliver an event to the listeners of all events, and to those of its recipient.
    case deliver(ClientStateMachine.Recipient, Envelope)
    /// A channel is subscribed. `away` is how long it was not, if it was subscribed before.
    case subscribed(ChannelID, Envelope, away: Duration?)
    /// A channel could not be subscribed. The envelope is the event that its listeners get.
    case subscriptionFailed(ChannelID, SubscriptionError, Envelope)
    /// The number of subscriptions changed. The envelope is the event that its listeners get.
    case subscriptionCountChanged(ChannelID, Int, Envelope)
    /// The list of members of a new subscription. The difference is to the list before, if there was one.
    case membersReplaced(ChannelID, [PresenceMember], PresenceRoster.Difference)
    /// A member joined. The envelope is the event that the listeners get.
    case memberAdded(ChannelID, PresenceMember, Envelope)
    /// A member left. The envelope is the event that the listeners get.
    case memberRemoved(ChannelID, PresenceMember, Envelope)
    /// The cache of the channel is empty.
    case cacheMissed(ChannelID, Envelope)
    /// An event of an encrypted channel cannot be read. The envelope is unchanged.
    case failedToDecrypt(ChannelID, Envelope, PusherClientError)
    /// The channel object is out of use, and gets no more events.
    case retired(ChannelID)

    /// A user is signed in. The envelope is the server's message.
    case signedIn(SignedInUser, Envelope)
    /// The sign-in failed. The envelope is the event that the user's listeners get.
    case signInFailed(PusherClientError, Envelope)
    /// Deliver an event for the user to the user's listeners.
    case deliverToUser(Envelope)
    /// Watched users came online or went offline.
    case watchlistChanged(WatchlistEvent)

    /// The client was released. Nothing is reported afterwards.
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
    case subscriptionFailed(SubscriptionError)
    /// With `CancellationError`.
    case cancelled
}
