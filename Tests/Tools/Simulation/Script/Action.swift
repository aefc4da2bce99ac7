package import PusherTestServer

/// One action of the app, the network, the server or time. The value contains the whole action, so lists of actions can
/// be repeated, shortened and stored.
package enum Action: Hashable, Sendable {
    // MARK: The app

    case connect
    case disconnect
    case subscribe(String)
    case unsubscribe(String)
    case unsubscribeAll
    case resubscribe(String)
    /// Binds a callback on a channel. If the event is nil, the callback gets every event.
    case bind(String, event: String?)
    /// Binds a callback for all channels.
    case bindToAll(event: String?)
    /// Binds a callback that calls the client for its first event.
    case bindReacting(String, Reaction)
    /// Unbinds one of the callbacks. The number is an index, modulo the number of callbacks.
    case unbind(Int)
    /// Begins to read a sequence of a channel's events.
    case read(String, event: String?)
    /// Begins to read `statuses(every:)`, and releases the sequence after `atMost` elements. If `atMost` is nil, there
    /// is no limit.
    case countDown(milliseconds: Int, atMost: Int?)
    /// Releases one of the sequences. The number is an index, modulo the number of sequences.
    case stopReading(Int)
    case trigger(String)
    /// Sends a client event and waits until it is written.
    case send(String)
    case signIn
    case signOut
    /// Waits in a task for an outcome.
    case await(Awaited)
    /// Cancels one of the waiting tasks. The number is an index, modulo the number of tasks.
    case cancel(Int)
    case checkConnection
    case reconnectNow
    case switchEndpoint
    /// Releases the client, and creates another client.
    case dropClient

    // MARK: The network

    case latency(milliseconds: ClosedRange<Int>)
    /// Splits frames into pieces of at most this size. With nil, frames stay whole.
    case cutIntoPieces(upTo: Int?)
    case fragment(upTo: Int)
    case nextConnections(ConnectOutcome, count: Int)
    /// Cuts the connection. The client notices the loss after this many milliseconds.
    case cut(heardAfter: Int)
    /// Loses all later messages, but does not close the connection.
    case goDeaf(toClient: Bool, toServer: Bool)
    case failRequests(Bool)
    /// Delays the moment at which the operating system accepts written messages.
    case slowWrites(milliseconds: Int)
    /// Blocks new WebSockets, or allows them again if the fault is nil.
    case blockUpgrades(PusherTestRelay.UpgradeFault?)

    // MARK: The server

    case close(code: Int?)
    case error(code: Int?, message: String)
    case dropConnections
    /// Restarts the server without its state. The network refuses this many of the next attempts.
    case restart(refusing: Int)
    case publish(String, event: String)
    case publishUnreadable(String)
    case rotateKey
    /// Publishes an event of a backend that does not have the new key yet.
    case publishWithOldKey(String)
    case failAuthorizations(PusherTestServer.AuthorizationFault, count: Int)
    case failSignIns(PusherTestServer.AuthorizationFault, count: Int)
    case failSubscriptions(String, PusherTestServer.SubscriptionFault?)
    case failConnections(PusherTestServer.ConnectionFault, count: Int)
    case goSilent
    case speakAgain
    case delayMessages(milliseconds: Int)
    case ping
    case webSocketPing
    case say(String)
    case sayBytes([UInt8])
    case sayBinary
    case memberJoins(String)
    case memberLeaves(String)
    /// Sends a client event of another member.
    case memberSpeaks(String)
    case publishToUser
    case forgetCache
    case announceActivityTimeout(seconds: Int?)
    /// Closes connections on which the client is silent for this long, with a close frame or without. With nil, there
    /// is no limit.
    case limitIdleTime(seconds: Int?, closes: Bool)
    case terminateUser
    /// Applies the fault to the next requests of HTTP transports.
    case failTransportRequests(PusherTestServer.TransportRequests, PusherTestServer.TransportRequestFault, count: Int)
    case endStreams(cleanly: Bool)
    /// Makes the server forget the session of the client, without a report to the client.
    case loseSessions(PusherTestServer.LostSession)
    /// Holds streams back until they have this many bytes. With nil, passes all bytes on at once.
    case bufferStreams(until: Int?)

    // MARK: Time

    case advance(milliseconds: Int)
    /// Suspends the machine. The clock continues, but the timers stop.
    case suspend(seconds: Int)
    /// Stops the client until it wakes, while the network and the server continue. The client's timers stop or are
    /// late.
    case fallAsleep(isSuspended: Bool)
    case wake

    /// A call that a callback makes during a delivery.
    package enum Reaction: Hashable, Sendable {
        case unbindItself
        case unsubscribe(String)
        case subscribe(String)
        case resubscribe(String)
        case disconnect
        case connect
        case reconnect
        case trigger(String)
        case unsubscribeAll
    }

    /// The outcome that a task waits for.
    package enum Awaited: Hashable, Sendable {
        case connected
        case disconnected
        case subscribed(String)
        case signedIn
        /// `withChannel`: a subscription for the lifetime of the task.
        case scope(String)
    }
}

/// An action with its timing.
package struct PlannedAction: Hashable, Sendable {
    package var action: Action
    /// Whether the app makes the call on the client's event loop.
    package var isOnLoop: Bool
    /// Whether the effects of the action happen before the next action.
    package var settles: Bool

    package init(_ action: Action, isOnLoop: Bool = false, settles: Bool = true) {
        self.action = action
        self.isOnLoop = isOnLoop
        self.settles = settles
    }
}
