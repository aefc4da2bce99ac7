import PusherEncryption

/// The server's decisions as a value: inputs are its methods, outputs are actions.
///
/// It has no clock, socket or task inside, and calls no closure. No message of a client can trap it.
package struct ServerBrain: Sendable {
    let options: PusherTestServer.Options
    var dialect: PusherTestServer.Dialect { options.dialect }
    private let socketIDPrefix: Int

    /// The server's time, which only moves forward. Set before each input.
    package var now = Duration.zero
    /// The time in seconds since 1970, for webhooks.
    package var unixTime = 0

    var connections: [ConnectionID: ServerConnection] = [:]
    /// The subscribers of each channel that has any, oldest first.
    var subscribers: [String: [ConnectionID]] = [:]
    /// The users on each presence channel that has any, in the order in which they came.
    var members: [String: [PresenceMember]] = [:]
    /// The channels of the members that have no connection.
    var fakeMembers: [ConnectionID: String] = [:]
    /// The connections of each user who has signed in, oldest first.
    var users: [String: [ConnectionID]] = [:]
    /// The connections whose user watches a user.
    var watchers: [String: [ConnectionID]] = [:]
    var cachedEvents: [String: CachedEvent] = [:]
    /// The key from which the keys of encrypted channels are derived; nil if the option is not a key.
    var masterKey: SecretKey?
    var timers: [TimerID: TimerPurpose] = [:]
    private var lastTimer = 0
    private var lastConnection = 0

    /// The connections over HTTP, by the path of their session.
    var sessions: [String: ConnectionID] = [:]
    /// The connections over HTTP whose frames are sent in the response to a request.
    var receivers: [RequestID: ConnectionID] = [:]
    /// The requests of HTTP transports that a fault delays.
    var delayedRequests: [RequestID: TimerID] = [:]
    var lostSessions = LostSessions()

    // The requested faults.
    var connectionFaults: [(fault: PusherTestServer.ConnectionFault, remaining: Int?)] = []
    var authorizationFaults = FaultList<AuthorizationTarget, PusherTestServer.AuthorizationFault>()
    /// By the name of the channel. Nil is for every channel without its own fault.
    var subscriptionFaults: [String?: PusherTestServer.SubscriptionFault] = [:]
    var transportFaults = FaultList<PusherTestServer.TransportRequests, PusherTestServer.TransportRequestFault>()
    /// How many bytes a proxy collects before it passes them on; nil for none.
    var streamBuffer: Int?
    var isSilent = false
    var delay = Duration.zero
    var activityTimeout: Int?
    var idleLimit: PusherTestServer.Dialect.IdleLimit?

    var absences: [Absence: TimerID] = [:]
    /// The events from the current input, as JSON texts.
    var webhookEvents: [String] = []
    private var actions: [ServerAction] = []

    package init(options: PusherTestServer.Options, socketIDPrefix: Int) {
        self.options = options
        self.socketIDPrefix = socketIDPrefix
        self.activityTimeout = options.activityTimeout
        self.idleLimit = options.dialect.idleLimit
        self.masterKey = SecretKey(base64: options.encryptionMasterKey)
    }

    /// The connection's id for clients. It is unique during the server's life, unless a test has chosen it.
    package func socketID(of id: ConnectionID) -> String {
        connections[id]?.socketID ?? "\(socketIDPrefix).\(id.rawValue)"
    }

    /// An id that was not used before: for a connection, or for a member without one.
    package mutating func makeConnectionID() -> ConnectionID {
        lastConnection += 1
        return ConnectionID(rawValue: lastConnection)
    }

    // MARK: Output

    mutating func perform(_ action: ServerAction) { actions.append(action) }

    mutating func record(_ event: PusherTestServer.Record.Event, _ id: ConnectionID? = nil) {
        actions.append(.record(socketID: id.map { socketID(of: $0) }, event))
    }

    mutating func takeActions() -> [ServerAction] {
        flushWebhooks()
        defer { actions = [] }
        return actions
    }

    // MARK: Timers

    enum TimerPurpose: Hashable, Sendable {
        /// A delayed frame is due.
        case delay(ConnectionID)
        /// The client has been quiet for the ping interval.
        case ping(ConnectionID)
        /// The client has not answered a `pusher:ping`.
        case pong(ConnectionID)
        /// The client has been silent for the longest allowed time.
        case idle(ConnectionID)
        /// The client has not answered a close frame.
        case close(ConnectionID)
        /// The client gets a heartbeat if there was no other frame.
        case heartbeat(ConnectionID)
        /// The client had enough time to move its session to another response.
        case move(ConnectionID)
        /// The client has no receiving request.
        case disconnect(ConnectionID)
        /// A request of an HTTP transport was delayed.
        case transportRequest(RequestID, TransportCall)
        /// The answer to a request for an authorization is due.
        case authorization(RequestID, PusherTestServer.Request, RESTResponse)
        /// A user has not come back.
        case absence(Absence)
    }

    mutating func schedule(_ purpose: TimerPurpose, after delay: Duration) -> TimerID {
        lastTimer += 1
        let timer = TimerID(rawValue: lastTimer)
        timers[timer] = purpose
        perform(.schedule(timer, after: delay))
        return timer
    }

    mutating func cancel(_ timer: TimerID?) {
        guard let timer, timers.removeValue(forKey: timer) != nil else { return }
        perform(.cancel(timer))
    }

    /// Handles a timer that has fired. One that is not current does nothing.
    package mutating func timerFired(_ timer: TimerID) -> [ServerAction] {
        switch timers.removeValue(forKey: timer) {
        case nil: break
        case .delay(let id): releaseOutbox(of: id, timer)
        case .ping(let id): pingTimerFired(on: id)
        case .pong(let id): pongTimerFired(on: id)
        case .idle(let id): idleTimerFired(on: id)
        case .close(let id): end(id)
        case .heartbeat(let id): heartbeatTimerFired(on: id)
        case .move(let id): moveTimerFired(on: id)
        case .disconnect(let id): endSession(id, isRemembered: false)
        case .transportRequest(let id, let call): delayedRequestIsDue(id, call)
        case .authorization(let id, let request, let response): answer(id, request, response)
        case .absence(let absence): absenceTimerFired(absence)
        }
        return takeActions()
    }
}
