import PusherEncryption

/// What the server says and does, as a value: inputs are its methods, outputs are actions.
///
/// It has no clock, socket or task inside, and calls no closure. Nothing that a client sends can trap it.
package struct ServerBrain: Sendable {
    let options: PusherTestServer.Options
    var dialect: PusherTestServer.Dialect { options.dialect }
    private let socketIDPrefix: Int

    /// The server's time, which only goes forward. Set before each input.
    package var now = Duration.zero
    /// The time in seconds since 1970, as webhooks tell it.
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
    /// What the keys of encrypted channels are derived from; nil where the option is no key.
    var masterKey: SecretKey?
    var timers: [TimerID: TimerPurpose] = [:]
    private var lastTimer = 0
    private var lastConnection = 0

    /// The connections over HTTP, by the path of their session.
    var sessions: [String: ConnectionID] = [:]
    /// The connections over HTTP whose frames go out in the response to a request.
    var receivers: [RequestID: ConnectionID] = [:]
    /// The requests of HTTP transports that a fault holds back.
    var delayedRequests: [RequestID: TimerID] = [:]
    var lostSessions = LostSessions()

    // Faults that were asked for.
    var connectionFaults: [(fault: PusherTestServer.ConnectionFault, remaining: Int?)] = []
    var authorizationFaults = FaultList<AuthorizationTarget, PusherTestServer.AuthorizationFault>()
    /// By the name of the channel; nil is for every channel without one of its own.
    var subscriptionFaults: [String?: PusherTestServer.SubscriptionFault] = [:]
    var transportFaults = FaultList<PusherTestServer.TransportRequests, PusherTestServer.TransportRequestFault>()
    /// How many bytes a proxy collects before it hands them on; nil for none.
    var streamBuffer: Int?
    var isSilent = false
    var delay = Duration.zero
    var activityTimeout: Int?
    var idleLimit: PusherTestServer.Dialect.IdleLimit?

    var absences: [Absence: TimerID] = [:]
    /// What the current input has caused, as JSON texts.
    var webhookEvents: [String] = []
    private var actions: [ServerAction] = []

    package init(options: PusherTestServer.Options, socketIDPrefix: Int) {
        self.options = options
        self.socketIDPrefix = socketIDPrefix
        self.activityTimeout = options.activityTimeout
        self.idleLimit = options.dialect.idleLimit
        self.masterKey = SecretKey(base64: options.encryptionMasterKey)
    }

    /// The id that clients know a connection by: unique over the server's life, unless a test has chosen it.
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
        /// A frame that is held back is due.
        case delay(ConnectionID)
        /// The client has been quiet for the ping interval.
        case ping(ConnectionID)
        /// The client has not answered a `pusher:ping`.
        case pong(ConnectionID)
        /// The client has sent nothing for as long as it may.
        case idle(ConnectionID)
        /// The client has not answered a close frame.
        case close(ConnectionID)
        /// The client gets a heartbeat if it has heard nothing.
        case heartbeat(ConnectionID)
        /// The client had its time to move its session to another response.
        case move(ConnectionID)
        /// The client has no receiving request.
        case disconnect(ConnectionID)
        /// A request of an HTTP transport was held back.
        case transportRequest(RequestID, TransportCall)
        /// The answer to a request for an authorization is due.
        case authorization(RequestID, PusherTestServer.Request, RESTResponse)
        /// Somebody has not come back.
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

    /// A timer that was scheduled has fired. One that is not current does nothing.
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
