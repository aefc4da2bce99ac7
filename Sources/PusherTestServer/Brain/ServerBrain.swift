import PusherEncryption
import PusherProtocol

/// The server's logic as a value, whose methods take inputs and return actions.
///
/// The brain has no clock, socket or task, and calls no closure. No message of a client can make the brain trap.
package struct ServerBrain: Sendable {
    let options: PusherTestServer.Options
    var dialect: PusherTestServer.Dialect { options.dialect }
    private let socketIDPrefix: Int

    /// The server's time, which only moves forward. The engine sets the time before each input.
    package var now = Duration.zero
    /// The time in milliseconds since 1970, for webhooks and the age of signatures.
    package var unixMilliseconds = 0
    /// The time in seconds since 1970.
    var unixTime: Int { unixMilliseconds / 1_000 }

    var connections: [ConnectionID: ServerConnection] = [:]
    /// The subscribers by channel, oldest first. Contains only channels with subscribers.
    var subscribers = WireTable<[ConnectionID]>()
    /// The users by presence channel, in the order of their arrival. Contains only channels with users.
    var members = WireTable<[PresenceMember]>()
    /// The channels of the simulated members, by the member's id.
    var fakeMembers: [ConnectionID: String] = [:]
    /// The connections by signed-in user, oldest first.
    var users = WireTable<[ConnectionID]>()
    /// The connections of the users who watch a user, by the id of the watched user.
    var watchers = WireTable<[ConnectionID]>()
    var cachedEvents = WireTable<CachedEvent>()
    /// The key from which the server derives the keys of encrypted channels. Nil if
    /// ``PusherTestServer/Options/encryptionMasterKey`` is not a valid key.
    var masterKey: SecretKey?
    var timers: [TimerID: TimerPurpose] = [:]
    private var lastTimer = 0
    private var lastConnection = 0

    /// The connections over HTTP, by the path of their session.
    var sessions: [String: ConnectionID] = [:]
    /// The connections over HTTP, by the receiving request whose response carries their frames.
    var receivers: [RequestID: ConnectionID] = [:]
    /// The requests of HTTP transports that a fault delays.
    var delayedRequests: [RequestID: TimerID] = [:]
    var lostSessions = LostSessions()

    // The requested faults.
    var connectionFaults: [(fault: PusherTestServer.ConnectionFault, remaining: Int?)] = []
    var authorizationFaults = FaultList<AuthorizationTarget, PusherTestServer.AuthorizationFault>()
    /// The faults by channel name. The fault for nil applies to every channel without its own fault.
    var subscriptionFaults: [String?: PusherTestServer.SubscriptionFault] = [:]
    var transportFaults = FaultList<PusherTestServer.TransportRequests, PusherTestServer.TransportRequestFault>()
    /// The number of bytes that the simulated proxy collects before it passes them on. Nil means no proxy.
    var streamBuffer: Int?
    var isSilent = false
    var delay = Duration.zero
    var activityTimeout: Int?
    var idleLimit: PusherTestServer.Dialect.IdleLimit?

    var absences: [Absence: TimerID] = [:]
    /// The webhook events that the current input has caused, as JSON.
    var webhookEvents: [String] = []
    private var actions: [ServerAction] = []

    package init(options: PusherTestServer.Options, socketIDPrefix: Int) {
        self.options = options
        self.socketIDPrefix = socketIDPrefix
        self.activityTimeout = options.activityTimeout
        self.idleLimit = options.dialect.idleLimit
        self.masterKey = SecretKey(base64: options.encryptionMasterKey)
    }

    /// Returns the socket id of a connection. The server uses each socket id once, unless a test has chosen the id.
    package func socketID(of id: ConnectionID) -> String {
        connections[id]?.socketID ?? "\(socketIDPrefix).\(id.rawValue)"
    }

    /// Makes a new id for a connection, or for a member without a connection.
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
        /// The client has been silent for the ping interval.
        case ping(ConnectionID)
        /// The client has not answered a `pusher:ping`.
        case pong(ConnectionID)
        /// The client may have been silent for the longest allowed time.
        case idle(ConnectionID)
        /// The client has not answered a close frame.
        case close(ConnectionID)
        /// The client gets a heartbeat if the session has sent no other frame.
        case heartbeat(ConnectionID)
        /// The client has not moved the session to another response in time.
        case move(ConnectionID)
        /// The client has no receiving request.
        case disconnect(ConnectionID)
        /// A request of an HTTP transport was delayed.
        case transportRequest(RequestID, TransportCall)
        /// The answer to a request for an authorization is due.
        case authorization(RequestID, PusherTestServer.Request, RESTResponse)
        /// A webhook about a channel without subscribers, or about a member who has left, is due.
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

    /// Handles a timer that has fired. A cancelled timer has no effect.
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
