extension PusherTestServer {
    /// The options of a server. Every option has a default that suits most tests.
    public struct Options: Sendable {
        /// The application that clients connect to. Default: the default values of ``Application``.
        public var application = Application()

        /// Further applications of the same server, each with options of its own, such as a dialect, an encryption key or
        /// webhooks. Clients of one application get nothing of another. ``PusherTestServer/apps`` has a server for each.
        /// Default: none.
        ///
        /// Their addresses, certificates, limits for requests, allowed origins and allowed hosts are this server's, and
        /// their own `apps` have no effect. A server in memory, or in virtual time, has one application, so the option has
        /// no effect there. A request for an authorization endpoint does not name its application. The
        /// server finds it by the socket id of an open connection, and otherwise the first application signs.
        public var apps: [Options] = []

        /// The address to bind: `127.0.0.1` (the default) or `::1`. You can also bind another address of this machine.
        /// Everyone who can reach that address can then use the server.
        public var host = "127.0.0.1"
        /// The port to bind. If 0, the default, the system chooses a free port.
        public var port = 0
        /// The certificate for TLS, for example ``TLS/localhost``. If nil, the default, the server does not use TLS.
        public var tls: TLS?
        /// The port for TLS, if the server also serves without TLS on ``port``, for example for a backend that uses https
        /// and a client that does not. Both ports have the same connections and channels. 0 means any free port. If nil,
        /// the default, a server with ``tls`` uses only TLS, on ``port``. ``PusherTestServer/start()`` throws if there is a
        /// port but no ``tls``.
        public var tlsPort: Int?

        /// The form of the server's messages. Default: Pusher's form.
        public var dialect = Dialect.pusher

        /// The `activity_timeout` that the server sends on new connections, in seconds. Nil omits the field. Default:
        /// 120.
        public var activityTimeout: Int? = 120
        /// The time that a client may be silent before the server sends `pusher:ping`. Default: nil, for no pings.
        public var pingInterval: Duration?
        /// The time within which a client must answer a `pusher:ping`. Afterwards, the server closes the connection
        /// with 4201. Default: 30 s.
        public var pongTimeout: Duration = .seconds(30)
        /// The time within which a client must answer a close frame. Afterwards, the server closes the TCP connection.
        /// Default: 5 s.
        public var closeTimeout: Duration = .seconds(5)

        /// Whether the server checks `protocol` in the query (close codes 4006, 4007 and 4008). Default: false.
        public var checksProtocolVersion = false
        /// Whether the server sends `pusher_internal:subscription_count`. Default: false.
        public var sendsSubscriptionCounts = false
        /// Whether the answer to an upgrade names the subprotocol `pusher-channels-protocol-7` if the client offers
        /// it. Default: false.
        public var echoesSubprotocol = false

        /// Whether clients may send client events. Default: true.
        public var acceptsClientEvents = true
        /// The number of client events that a connection may send in a second. The server answers further events with
        /// error 4301. Nil means no limit. Default: 10.
        public var clientEventsPerSecond: Int? = 10
        /// The limit for messages of all kinds on a connection, including subscriptions, as in Reverb. Nil, the
        /// default, means no limit.
        public var messageLimit: MessageLimit?
        /// The time for which the server keeps the last event of a cache channel. Default: 30 min.
        public var cacheLifetime: Duration = .seconds(1800)
        /// The limit for the number of users on a presence channel. Default: 100.
        public var maximumMemberCount = 100
        /// The longest `user_info` on a presence channel, in bytes of JSON text. Default: 1,024.
        public var maximumUserInfoSize = 1024

        /// The closure that decides the backend's answer at `/pusher/auth`. By default, every client may subscribe.
        /// ``ChannelAuthorization/allow(userID:userInfo:)`` describes the user on a presence channel.
        ///
        /// The server calls the closure on its event loop, so the closure must not block.
        public var authorizeChannel: @Sendable (ChannelAuthorizationRequest) -> ChannelAuthorization = { _ in .allow() }
        /// The closure that decides the backend's answer at `/pusher/user-auth`. By default, every client may sign in.
        /// ``UserAuthentication/allow(userID:userInfo:watchlist:)`` describes the user.
        ///
        /// The server calls the closure on its event loop, so the closure must not block.
        public var authenticateUser: @Sendable (UserAuthenticationRequest) -> UserAuthentication = { _ in .allow() }
        /// Whether the server accepts any string as the `auth` of a subscription or a sign-in. Use this option if a
        /// test's authorizations are fixed strings. The server still checks requests to the REST API. Default: false.
        public var acceptsAnySignature = false
        /// The master key of encrypted channels: the base64 of 32 bytes. Default:
        /// ``testEncryptionMasterKey``.
        public var encryptionMasterKey = Self.testEncryptionMasterKey
        /// A key for tests: the bytes 0 to 31. The key is not secret.
        public static let testEncryptionMasterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

        /// The URL for webhooks, which the server signs with the application's secret. If nil, the default, the server
        /// sends no webhooks. A server in memory records webhooks but does not send them.
        public var webhookURL: String?
        /// The delay of the webhooks `channel_vacated` and `member_removed`. The server does not send them if, within
        /// this time, the channel gets a subscriber or the user returns. Default: 3 s.
        public var webhookDelay: Duration = .seconds(3)

        /// The longest `data` of an event from the REST API or of a client event, in bytes. The server answers a longer
        /// event from the REST API with 413, and a longer client event with error 4301. The limit does not apply to
        /// ``PusherTestServer/publish(event:data:to:excluding:)``. Default: 10,240.
        public var maximumEventDataSize = 10_240
        /// The longest body of an HTTP request, in bytes. The server answers a longer request with 413 before it has
        /// read the whole body, and closes the connection. Default: 1 MiB.
        public var maximumRequestSize = 1 << 20
        /// The time that an HTTP request may take, from the first byte of its head to the last byte of its body.
        /// Afterwards, the server answers with 408 and closes the connection. The limit does not apply
        /// between two requests, or to an open WebSocket. Default: 30 s.
        public var requestTimeout: Duration = .seconds(30)
        /// The origins of web pages that may use the server, for example `https://app.example.test`. An origin has no
        /// path, and has a port only if the port is not the default port. Pages from `localhost`, `127.0.0.1` and `::1`
        /// are always allowed, on every port. Default: no other origins.
        ///
        /// The server answers each request of another page with status 403: WebSocket upgrades, and requests for the
        /// authorization endpoints, the REST API and the HTTP transports. Such a page therefore cannot connect, get a
        /// signature, or publish. Clients that send no `Origin` are not affected. A client may also send the server's
        /// own address as the origin, if it is an IP address. If a page has the origin `null`, such as a page from a
        /// file, add `null`.
        public var allowedOrigins: Set<String> = []
        /// The names in the `Host` of requests that the server accepts, without ports, for example
        /// `host.docker.internal`, if it listens on a loopback address. The server always accepts ``host``, `localhost`,
        /// names that end in `.localhost`, and IP addresses. Default: no other names.
        ///
        /// The server answers a request with another name with status 403, because a web page can use a name of its own
        /// that leads to this machine. If ``host`` is not a loopback address, the server does not check names.
        public var allowedHosts: Set<String> = []
        /// The longest message that a client may send, in bytes. If a message is longer, the server closes the
        /// connection with 1009. Default: 1 MiB.
        public var maximumMessageSize = 1 << 20

        /// The limit for the bytes that wait for the client of one WebSocket. If more bytes wait when the server sends
        /// another message, the server drops the connection, because the client does not read. Default: 16 MiB.
        /// ``HTTPTransports/maximumQueueSize`` is the limit for connections over HTTP.
        public var maximumQueueSize = 16 << 20

        /// The transports over plain HTTP, for clients that cannot use a WebSocket. Default: the default values of
        /// ``HTTPTransports``.
        public var httpTransports = HTTPTransports()

        /// The limit for the number of records. The server removes the oldest records first, and also if the messages
        /// and requests in the records have more than 256 MiB in all. Default: 65,536.
        public var maximumRecordCount = 65_536
        /// The number before the dot in every socket id. If nil, the default, the server picks a random number. Two
        /// applications of a server cannot have the same number.
        public var socketIDPrefix: Int?

        /// Creates options with their defaults.
        public init() {}
    }

    /// A limit for the messages of a connection. The server answers each message beyond the limit with error 4301 "Rate
    /// limit exceeded". The error names no channel. The server ignores the message.
    public struct MessageLimit: Hashable, Sendable {
        /// The number of messages that the server accepts in a window.
        public var count: Int
        /// The length of a window. A window begins with the first message after the previous window.
        public var window: Duration
        /// Whether the server drops a connection that exceeds the limit, without an error and without a close frame, as
        /// Reverb does with its option to terminate at the limit. If `false`, the server drops only the message, and
        /// answers with error 4301. Default: `false`.
        public var endsConnection: Bool

        /// Creates a limit.
        public init(count: Int, window: Duration = .seconds(1), endsConnection: Bool = false) {
            self.count = count
            self.window = window
            self.endsConnection = endsConnection
        }
    }

    /// An application, with the app id, key and secret that a Pusher dashboard shows.
    public struct Application: Hashable, Sendable {
        /// The id, which is part of the REST API's paths. Default: `1`.
        public var id: String
        /// The key, which is part of the WebSocket URL. Default: `app-key`.
        public var key: String
        /// The secret that signs requests. Default: `app-secret`.
        public var secret: String

        /// Creates an application.
        public init(id: String = "1", key: String = "app-key", secret: String = "app-secret") {
            self.id = id
            self.key = key
            self.secret = secret
        }
    }

    /// A certificate and its key, as text.
    public struct TLS: Sendable {
        /// The server's certificate in PEM form, followed by the intermediate certificates.
        public var certificateChain: String
        /// The certificate's unencrypted private key in PEM form.
        public var privateKey: String
        /// The root certificate in PEM form that clients must trust. ``PusherTestServer/access`` contains it for
        /// clients. The server itself does not use it. Nil if the clients' system already trusts the certificate.
        public var trustRoot: String?

        /// Creates a TLS configuration. ``PusherTestServer/start()`` checks the certificate and the key.
        public init(certificateChain: String, privateKey: String, trustRoot: String? = nil) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
            self.trustRoot = trustRoot
        }
    }
}

extension PusherTestServer.Application: CustomStringConvertible {
    /// The id and the key, without the secret.
    public var description: String { "Application(id: \(id), key: \(key))" }
}

extension PusherTestServer.Application: CustomReflectable {
    /// The id and the key, without the secret.
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
    /// A description without the key.
    public var description: String { "TLS(certificateChain: \(certificateChain.utf8.count) bytes)" }
}

extension PusherTestServer.TLS: CustomReflectable {
    /// A mirror without the key.
    public var customMirror: Mirror { Mirror(self, children: ["certificateChain": certificateChain]) }
}
