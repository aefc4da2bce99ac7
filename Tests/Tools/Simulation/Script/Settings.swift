import PusherClient
package import PusherTestServer

/// The settings of a simulated world.
package struct Settings: Hashable, Sendable {
    /// The seed of random decisions during the run.
    package var seed: UInt64
    /// The index of the server's dialect in ``dialects``.
    package var dialect: Int
    package var useTLS: Bool
    package var autoReconnect: Bool
    package var retryPolicy: Retry
    /// The client's activity timeout in seconds; nil for the default.
    package var activityTimeout: Double?
    /// The interval of the server's pings in seconds. Nil for a server that never pings.
    package var serverPingInterval: Int?
    package var authorization: Authorization
    package var authorizationsAtOnce: Int
    package var heldEncryptedEvents: Int
    package var countsSubscriptions: Bool
    /// The server's limit on all messages of a connection; nil for none.
    package var messageLimit: MessageLimit?
    package var transports: Transports
    /// The fault that new WebSockets get while the network blocks WebSockets.
    package var upgradeFault: PusherTestRelay.UpgradeFault
    /// The number of bytes of a stream after which the client requests another stream.
    package var streamLength: Int
    /// Whether the server stops a stream at this length, and waits for the client's next request.
    package var serverStopsStreams: Bool
    /// Whether a stream begins with two kilobytes of padding.
    package var sendsPrelude: Bool
    package var secondPoll: PusherTestServer.HTTPTransports.SecondPoll

    package enum Transports: Hashable, Sendable {
        case webSocket
        case httpStreaming
        case httpPolling
        case webSocketWithHTTPFallback

        var list: PusherTransports {
            switch self {
            case .webSocket: .webSocket
            case .httpStreaming: [.httpStreaming]
            case .httpPolling: [.httpPolling]
            case .webSocketWithHTTPFallback: .webSocketWithHTTPFallback
            }
        }
    }

    package enum MessageLimit: Hashable, Sendable {
        case perSecond(Int)
        case perMinute(Int)
        /// The server drops the connection after a message beyond the limit.
        case droppingPerSecond(Int)
    }

    package enum Retry: Hashable, Sendable {
        /// Waits exponentially with full jitter.
        case `default`
        /// Always waits this many milliseconds.
        case fixed(milliseconds: Int)
        /// Stops after this many attempts.
        case limited(attempts: Int)
    }

    package enum Authorization: Hashable, Sendable, CaseIterable {
        case endpoint
        /// Authorizes many channels in one request.
        case batches
        /// Authorizes with the app's secret.
        case inline
        /// Authorizes with a function of the app.
        case function
    }

    package init(
        seed: UInt64,
        dialect: Int = 0,
        useTLS: Bool = false,
        autoReconnect: Bool = true,
        retryPolicy: Retry = .default,
        activityTimeout: Double? = nil,
        serverPingInterval: Int? = nil,
        authorization: Authorization = .endpoint,
        authorizationsAtOnce: Int = 16,
        heldEncryptedEvents: Int = 1_000,
        countsSubscriptions: Bool = false,
        messageLimit: MessageLimit? = nil,
        transports: Transports = .webSocket,
        upgradeFault: PusherTestRelay.UpgradeFault = .swallowed,
        streamLength: Int = 256 * 1_024,
        serverStopsStreams: Bool = true,
        sendsPrelude: Bool = false,
        secondPoll: PusherTestServer.HTTPTransports.SecondPoll = .refused
    ) {
        self.seed = seed
        self.dialect = dialect
        self.useTLS = useTLS
        self.autoReconnect = autoReconnect
        self.retryPolicy = retryPolicy
        self.activityTimeout = activityTimeout
        self.serverPingInterval = serverPingInterval
        self.authorization = authorization
        self.authorizationsAtOnce = authorizationsAtOnce
        self.heldEncryptedEvents = heldEncryptedEvents
        self.countsSubscriptions = countsSubscriptions
        self.messageLimit = messageLimit
        self.transports = transports
        self.upgradeFault = upgradeFault
        self.streamLength = streamLength
        self.serverStopsStreams = serverStopsStreams
        self.sendsPrelude = sendsPrelude
        self.secondPoll = secondPoll
    }

    package static let dialects: [(name: String, dialect: PusherTestServer.Dialect)] = [
        ("pusher", .pusher), ("soketi", .soketi), ("reverb", .reverb), ("pylon", .pylon), ("ipe", .ipe),
        ("poxa", .poxa), ("slanger", .slanger), ("pusherFake", .pusherFake),
    ]
}
