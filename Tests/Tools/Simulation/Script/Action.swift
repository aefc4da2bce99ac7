package import PusherTestServer

/// One action of the app, the network, the server or time. The value contains the whole action, so that a list of
/// actions can be repeated, shortened and stored.
package enum Action: Hashable, Sendable {
    // MARK: The app

    case connect
    case disconnect
    case subscribe(String)
    case unsubscribe(String)
    case unsubscribeAll
    case resubscribe(String)
    /// Binds a callback on a channel; to every event if the name is nil.
    case bind(String, event: String?)
    /// The same for all channels.
    case bindToAll(event: String?)
    /// Binds a callback that acts the first time it is called.
    case bindReacting(String, Reaction)
    /// Unbinds one of the callbacks, in turn.
    case unbind(Int)
    /// Begins to read a sequence of a channel's events.
    case read(String, event: String?)
    /// Releases one of the sequences, in turn.
    case stopReading(Int)
    case trigger(String)
    /// Sends a client event and waits until it is written.
    case send(String)
    case signIn
    case signOut
    /// Waits in a task for the named event.
    case await(Awaited)
    /// Cancels one of the waiting tasks, in turn.
    case cancel(Int)
    case checkConnection
    case reconnectNow
    case switchEndpoint
    /// Releases the client, and makes another.
    case dropClient

    // MARK: The network

    case latency(milliseconds: ClosedRange<Int>)
    /// Nil for whole frames.
    case cutIntoPieces(upTo: Int?)
    case fragment(upTo: Int)
    case nextConnections(ConnectOutcome, count: Int)
    /// The connection ends; the client notices it after this many milliseconds.
    case cut(heardAfter: Int)
    /// From now on everything is lost, without an end of the connection.
    case goDeaf(toClient: Bool, toServer: Bool)
    case failRequests(Bool)
    /// The operating system accepts written messages only after this many milliseconds.
    case slowWrites(milliseconds: Int)
    /// Blocks WebSockets that are asked for; nil lets them through.
    case blockUpgrades(PusherTestRelay.UpgradeFault?)

    // MARK: The server

    case close(code: Int?)
    case error(code: Int?, message: String)
    case dropConnections
    /// The server loses its state, and starts again.
    case restart(refusing: Int)
    case publish(String, event: String)
    case publishUnreadable(String)
    case rotateKey
    /// An event from a backend that does not have the new key yet.
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
    /// Another member sends a client event.
    case memberSpeaks(String)
    case publishToUser
    case forgetCache
    case announceActivityTimeout(seconds: Int?)
    /// Connections on which the client is silent for this long end, with a close frame or without.
    case limitIdleTime(seconds: Int?, closes: Bool)
    case terminateUser
    /// Treats the next requests of HTTP transports so.
    case failTransportRequests(PusherTestServer.TransportRequests, PusherTestServer.TransportRequestFault, count: Int)
    case endStreams(cleanly: Bool)
    /// Forgets the session of the client, which is not told.
    case loseSessions(PusherTestServer.LostSession)
    /// Holds streams back until there is so much; nil hands everything on.
    case bufferStreams(until: Int?)

    // MARK: Time

    case advance(milliseconds: Int)
    /// The machine sleeps: its clock continues, its timers stop.
    case suspend(seconds: Int)
    /// The client does nothing until it wakes, while network and server continue. Its timers stop, or are late.
    case fallAsleep(isSuspended: Bool)
    case wake

    /// The action of a callback, during a delivery.
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

    /// The event that a task waits for.
    package enum Awaited: Hashable, Sendable {
        case connected
        case disconnected
        case subscribed(String)
        case signedIn
        /// `withChannel`: a subscription for the lifetime of the task.
        case scope(String)
    }
}

/// An action, and its timing.
package struct PlannedAction: Hashable, Sendable {
    package var action: Action
    /// Whether calls are made on the client's event loop, or elsewhere.
    package var isOnLoop: Bool
    /// Whether the effects of the action come before the next one.
    package var settles: Bool

    package init(_ action: Action, isOnLoop: Bool = false, settles: Bool = true) {
        self.action = action
        self.isOnLoop = isOnLoop
        self.settles = settles
    }
}
