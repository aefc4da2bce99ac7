extension PusherTestServer {
    /// The options of a server. Every option has a default that suits most tests.
    public struct Options: Sendable {
        /// The application that clients connect to. Default: see ``Application``.
        public var application = Application()

        /// The address to bind: `127.0.0.1` (the default) or `::1`. You can also bind another address of this machine.
        /// Then everybody who can reach it can use the server.
        public var host = "127.0.0.1"
        /// The port to bind; 0, the default, lets the system choose a free one.
        public var port = 0
        /// The certificate to serve TLS with, for example ``TLS/localhost``. Nil, the default, serves without TLS.
        public var tls: TLS?

        /// The form of the server's messages. Default: Pusher's own.
        public var dialect = Dialect.pusher

        /// The `activity_timeout` that is sent to new connections, in seconds; nil leaves it out. Default: 120.
        public var activityTimeout: Int? = 120
        /// If a client is silent for this long, the server sends `pusher:ping`. Default: nil, never.
        public var pingInterval: Duration?
        /// How long a client may take to answer a `pusher:ping` before the server closes the connection with 4201.
        /// Default: 30 s.
        public var pongTimeout: Duration = .seconds(30)
        /// How long a client may take to answer a close frame before the server ends TCP. Default: 5 s.
        public var closeTimeout: Duration = .seconds(5)

        /// Whether `protocol` in the query is checked (closes 4006, 4007, 4008). Default: false.
        public var checksProtocolVersion = false
        /// Whether `pusher_internal:subscription_count` is sent. Default: false.
        public var sendsSubscriptionCounts = false
        /// Whether the answer to an upgrade names the subprotocol `pusher-channels-protocol-7` if the client offers
        /// it. Default: false.
        public var echoesSubprotocol = false

        /// Whether clients may send each other events. Default: true.
        public var acceptsClientEvents = true
        /// How many client events a connection may send in a second; further ones are answered with error 4301. Nil
        /// sets no limit. Default: 10.
        public var clientEventsPerSecond: Int? = 10
        /// How many messages of all kinds, including subscriptions, a connection may send, as with Reverb's rate limit.
        /// Nil, the default, sets no limit.
        public var messageLimit: MessageLimit?
        /// How long the last event of a cache channel is kept. Default: 30 min.
        public var cacheLifetime: Duration = .seconds(1800)
        /// How many users a presence channel may have. Default: 100.
        public var maximumMemberCount = 100
        /// The longest `user_info` on a presence channel, in bytes of JSON text. Default: 1,024.
        public var maximumUserInfoSize = 1024

        /// Decides what the backend at `/pusher/auth` answers. Default: everybody may subscribe; who the user
        /// is on a presence channel is what ``ChannelAuthorization/allow(userId:userInfo:)`` says.
        ///
        /// Is called on the server's event loop, and must not block.
        public var authorizeChannel: @Sendable (ChannelAuthorizationRequest) -> ChannelAuthorization = { _ in .allow() }
        /// Decides what the backend at `/pusher/user-auth` answers. Default: everybody may sign in; who the user
        /// is is what ``UserAuthentication/allow(userId:userInfo:watchlist:)`` says.
        ///
        /// Is called on the server's event loop, and must not block.
        public var authenticateUser: @Sendable (UserAuthenticationRequest) -> UserAuthentication = { _ in .allow() }
        /// Whether any text is accepted as the `auth` of a subscription or of a sign-in, whatever its key and signature
        /// are. For tests whose authorizations are fixed texts. Requests to the REST API are still checked. Default:
        /// false.
        public var acceptsAnySignature = false
        /// The master key of encrypted channels: the base64 of 32 bytes. Default:
        /// ``testEncryptionMasterKey``.
        public var encryptionMasterKey = Self.testEncryptionMasterKey
        /// A key for tests, which is not secret: the bytes 0 to 31.
        public static let testEncryptionMasterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

        /// The URL for webhooks, which are signed with the application's secret. Nil, the default, sends none. A server
        /// without a socket, in memory only, records them but does not send them.
        public var webhookURL: String?
        /// How long the webhooks `channel_vacated` and `member_removed` wait for the client to return. Default: 3 s.
        public var webhookDelay: Duration = .seconds(3)

        /// The longest `data` of a published event or of a client event, in bytes. Longer published ones are answered
        /// with 413, longer client events with error 4301. Default: 10,240.
        public var maximumEventDataSize = 10_240
        /// The longest body of an HTTP request, in bytes. A longer one is answered with 413 before it is read to its end,
        /// and the connection is closed. Default: 1 MiB.
        public var maximumRequestSize = 1 << 20
        /// How long an HTTP request may take to arrive, from the first byte of its head to the last one of its body.
        /// After that it is answered with 408, and the connection is closed. Time between requests does not count, nor
        /// does the lifetime of a WebSocket. Default: 30 s.
        public var requestTimeout: Duration = .seconds(30)
        /// The origins of web pages that may use the authorization endpoints and the REST API, for example
        /// `https://app.example.test`: as browsers write them, with the port if it is not the default one, and without
        /// a path. Pages from `localhost`, `127.0.0.1` and `::1` are always allowed, on every port. Default: no others.
        public var allowedOrigins: Set<String> = []
        /// The longest message that a client may send, in bytes; a longer one closes the connection with 1009. Default:
        /// 1 MiB.
        public var maximumMessageSize = 1 << 20

        /// The transports over plain HTTP, for clients that cannot use a WebSocket. Default: see ``HTTPTransports``.
        public var httpTransports = HTTPTransports()

        /// How many records are kept. If there are more, the oldest are removed. Default: 65,536.
        public var maximumRecordCount = 65_536
        /// The number before the dot of every socket id; nil, the default, picks one at random.
        public var socketIDPrefix: Int?

        /// Options with their defaults.
        public init() {}
    }

    /// A limit on the messages of a connection. Each message beyond it is answered with error 4301 "Rate limit exceeded",
    /// which names no channel, and has no other effect.
    public struct MessageLimit: Hashable, Sendable {
        /// How many messages are accepted in a window.
        public var count: Int
        /// The length of a window, which begins with the first message after the last window.
        public var window: Duration
        /// Whether a message beyond the limit ends the connection, after the error and without a close frame.
        public var endsConnection: Bool

        /// Makes a limit.
        public init(count: Int, window: Duration = .seconds(1), endsConnection: Bool = false) {
            self.count = count
            self.window = window
            self.endsConnection = endsConnection
        }
    }

    /// An application: the app id, key and secret of a Pusher dashboard.
    public struct Application: Hashable, Sendable {
        /// The id, part of the REST API's paths. Default: `1`.
        public var id: String
        /// The key, part of the WebSocket URL. Default: `app-key`.
        public var key: String
        /// The secret that signs requests. Default: `app-secret`.
        public var secret: String

        /// Makes an application.
        public init(id: String = "1", key: String = "app-key", secret: String = "app-secret") {
            self.id = id
            self.key = key
            self.secret = secret
        }
    }

    /// A certificate and its key, as text.
    public struct TLS: Sendable {
        /// The server's certificate in PEM form, followed by the certificates between it and the root.
        public var certificateChain: String
        /// The certificate's private key in PEM form, not encrypted.
        public var privateKey: String
        /// The root certificate in PEM form that clients have to trust. ``PusherTestServer/access`` passes it to them.
        /// The server itself does not use it. Nil if the clients' system already trusts the certificate.
        public var trustRoot: String?

        /// Makes a TLS configuration. ``PusherTestServer/start()`` checks certificate and key.
        public init(certificateChain: String, privateKey: String, trustRoot: String? = nil) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
            self.trustRoot = trustRoot
        }
    }
}

extension PusherTestServer.Application: CustomStringConvertible {
    /// Id and key; the secret is left out.
    public var description: String { "Application(id: \(id), key: \(key))" }
}

extension PusherTestServer.Application: CustomReflectable {
    /// Id and key; the secret is left out.
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "key": key]) }
}

extension PusherTestServer.Options: CustomStringConvertible, CustomReflectable {
    /// The application and the address, without the keys.
    public var description: String { "Options(application: \(application), host: \(host), port: \(port))" }
    /// The application and the address, without the keys.
    public var customMirror: Mirror {
        Mirror(self, children: ["application": application, "host": host, "port": port])
    }
}

extension PusherTestServer.TLS: CustomStringConvertible {
    /// Leaves the key out.
    public var description: String { "TLS(certificateChain: \(certificateChain.utf8.count) bytes)" }
}

extension PusherTestServer.TLS: CustomReflectable {
    /// Leaves the key out.
    public var customMirror: Mirror { Mirror(self, children: ["certificateChain": certificateChain]) }
}
