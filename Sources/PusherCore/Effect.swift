package import PusherProtocol

/// One task for the shell. The shell runs effects on the event loop, in their order.
package enum Effect: Hashable, Sendable {
    // MARK: Socket

    /// Open a socket. The shell reports all events of the socket with this id.
    case open(AttemptID, TransportRequest)
    /// Send a message on the socket. When the message has been written, call ``ClientStateMachine/wrote(on:now:)``.
    /// Also make this call after ``sendClientEvent(_:_:)`` and ``sendMessage(_:_:)``.
    case send(AttemptID, Envelope)
    /// Send a client event on the socket. Report the result with
    /// ``ClientStateMachine/clientEventWritten(_:on:error:now:into:)``.
    case sendClientEvent(AttemptID, ClientEventQueue.Item)
    /// Send a message of the app on the socket, and report an error if the message could not be written.
    case sendMessage(AttemptID, Envelope)
    /// Start the closing handshake.
    case close(AttemptID, CloseCode)
    /// Close the socket at once. The shell reports no more events of the socket. `isServerSilent` means that no data
    /// arrived for too long, although the computer was not suspended.
    case abort(AttemptID, isServerSilent: Bool = false)

    // MARK: Timers

    /// Report the id to ``ClientStateMachine/timerFired(_:now:into:)`` after this time.
    case schedule(TimerID, after: Duration)
    /// Cancel the timer.
    case cancel(TimerID)

    // MARK: Questions to the app's code

    /// Ask the retry policy, and answer with ``ClientStateMachine/retryDecided(_:delay:now:into:)``.
    case askRetryPolicy(RetryQuestionID, RetryQuestion)
    /// Call ``ClientStateMachine/authorizationsGathered(batchSize:now:into:)`` in a later turn of the event loop.
    case gatherAuthorizations
    /// Make one request to the authorizer, for several channels or for the user. Answer each try with
    /// ``ClientStateMachine/authorized(_:_:now:into:)``.
    case authorize([AuthorizationTry: AuthorizationQuestion])
    /// Cancel a try whose answer is no longer needed.
    case cancelAuthorization(AuthorizationTry)

    /// Ask the app's code to open a box, and answer with ``ClientStateMachine/boxOpened(_:on:_:now:into:)``. The name is
    /// the channel's.
    case openBox(BoxID, on: String, SealedBox)

    // MARK: Publications

    /// The state in PusherSwift's terms changed.
    case stateChanged(from: ConnectionState, to: ConnectionState)
    case statusChanged(ConnectionStateMachine.Status)
    /// Report an error. A waiting call may get the error too.
    case report(PusherClientError)
    /// The app calls `connect()` right after each failure, so the client keeps a wait between its attempts. Warn about
    /// these calls.
    case hastyConnects

    /// Deliver an event to the listeners of all events, and to the recipient's listeners.
    case deliver(ClientStateMachine.Recipient, Envelope)
    /// A channel is subscribed. `away` is the time since the subscription was lost; nil for a new subscription.
    case subscribed(ChannelID, Envelope, away: Duration?)
    /// A channel could not be subscribed. The envelope is the event that the channel's listeners get.
    case subscriptionFailed(ChannelID, SubscriptionError, Envelope)
    /// The number of subscriptions changed. The envelope is the event that the channel's listeners get.
    case subscriptionCountChanged(ChannelID, Int, Envelope)
    /// A new subscription has replaced the list of members. The difference is relative to the previous list.
    case membersReplaced(ChannelID, [PresenceMember], PresenceRoster.Difference)
    /// A member joined. The envelope is the event that the channel's listeners get.
    case memberAdded(ChannelID, PresenceMember, Envelope)
    /// A member left. The envelope is the event that the channel's listeners get.
    case memberRemoved(ChannelID, PresenceMember, Envelope)
    /// The cache of the channel is empty.
    case cacheMissed(ChannelID, Envelope)
    /// An event of an encrypted channel cannot be decrypted. The envelope is unchanged.
    case failedToDecrypt(ChannelID, Envelope, PusherClientError)
    /// The channel object is retired, and gets no more events.
    case retired(ChannelID)

    /// A user is signed in. The envelope is the server's message.
    case signedIn(SignedInUser, Envelope)
    /// The sign-in failed. The envelope is the event that the user's listeners get.
    case signInFailed(PusherClientError, Envelope)
    /// Deliver an event for the user to the listeners of all events, and to the user's listeners.
    case deliverToUser(Envelope)
    /// Watched users came online or went offline.
    case watchlistChanged(WatchlistEvent)

    /// The app has ended the connection, or signed the user out. Later events belong to this epoch, which the shell
    /// counts. Only the shell adds this effect.
    case epochBegan(connection: Int, user: Int)

    /// The client was released. The shell reports nothing afterwards.
    case released

    // MARK: Waiting calls

    /// End a waiting call.
    case resume(WaiterID, WaiterOutcome)
}

/// The outcome of a waiting call.
package enum WaiterOutcome: Hashable, Sendable {
    /// Return the socket id.
    case connected(socketID: String)
    /// Return without a value.
    case done
    case failed(PusherClientError)
    case subscriptionFailed(SubscriptionError)
    /// Throw `CancellationError`.
    case cancelled
}
