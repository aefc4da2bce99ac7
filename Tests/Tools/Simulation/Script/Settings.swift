import PusherClient
package import PusherTestServer

/// The settings of a simulated world.
package struct Settings: Hashable, Sendable {
    /// The seed of random decisions during the run.
    package var seed: UInt64
    /// Which of ``dialects`` the server uses.
    package var dialect: Int
    package var useTLS: Bool
    package var autoReconnect: Bool
    package var retryPolicy: Retry
    /// In seconds.
    package var activityTimeout: Double?
    /// In seconds; nil for a server that never pings.
    package var serverPingInterval: Int?
    package var authorization: Authorization
    package var authorizationsAtOnce: Int
    package var heldEncryptedEvents: Int
    package var countsSubscriptions: Bool
    /// The server's limit on all messages of a connection; nil for none.
    package var messageLimit: MessageLimit?
    package var transports: Transports
    /// How a network blocks WebSockets that does.
    package var upgradeFault: PusherTestRelay.UpgradeFault
    /// After how many bytes of a stream the client goes over to another one.
    package var streamLength: Int
    /// Whether the server stops there, and waits for the client's request.
    package var serverStopsStreams: Bool
    /// Whether a stream begins with two kilobytes that say nothing.
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
        /// A message beyond it ends the connection.
        case droppingPerSecond(Int)
    }

    package enum Retry: Hashable, Sendable {
        /// Exponential with full jitter.
        case `default`
        /// Always this many milliseconds.
        case fixed(milliseconds: Int)
        /// Stops after this many attempts.
        case limited(attempts: Int)
    }

    package enum Authorization: Hashable, Sendable, CaseIterable {
        case endpoint
        /// Many channels in one request.
        case batches
        /// With the app's secret.
        case inline
        /// With a function of the app.
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
