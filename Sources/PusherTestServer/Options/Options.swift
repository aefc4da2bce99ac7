extension PusherTestServer {
    /// What a server is made with. Every option has a default that suits most tests.
    public struct Options: Sendable {
        /// The application that clients connect to. Default: see ``Application``.
        public var application = Application()

        /// The address to bind: `127.0.0.1` (the default) or `::1`.
        public var host = "127.0.0.1"
        /// The port to bind; 0, the default, lets the system choose a free one.
        public var port = 0
        /// The certificate to serve TLS with; nil, the default, serves without TLS.
        public var tls: TLS?

        /// How the server words its messages. Default: as Pusher itself does.
        public var dialect = Dialect.pusher

        /// The `activity_timeout` that a new connection is told, in seconds; nil leaves it out. Default: 120.
        public var activityTimeout: Int? = 120
        /// After this much silence of a client the server sends `pusher:ping`. Default: nil, never.
        public var pingInterval: Duration?
        /// How long a client may take to answer a `pusher:ping` before it is closed with 4201. Default: 30 s.
        public var pongTimeout: Duration = .seconds(30)
        /// How long a client may take to answer a close frame before TCP is ended. Default: 5 s.
        public var closeTimeout: Duration = .seconds(5)

        /// Whether `protocol` in the query is checked (closes 4006, 4007, 4008). Default: false.
        public var checksProtocolVersion = false
        /// Whether `pusher_internal:subscription_count` is sent. Default: false.
        public var sendsSubscriptionCounts = false
        /// Whether the answer to an upgrade names the subprotocol `pusher-channels-protocol-7` where the client offers
        /// it. Default: false.
        public var echoesSubprotocol = false

        /// The longest `data` of a published event, in bytes; longer ones are answered with 413. Default: 10,240.
        public var maximumEventDataSize = 10_240
        /// The longest body of an HTTP request, in bytes. Default: 1 MiB.
        public var maximumRequestSize = 1 << 20
        /// The longest message that a client may send, in bytes; longer ones close with 1009. Default: 1 MiB.
        public var maximumMessageSize = 1 << 20

        /// How many records are kept; of more, the oldest are forgotten. Default: 65,536.
        public var maximumRecordCount = 65_536
        /// The number before the dot of every socket id; nil, the default, picks one at random.
        public var socketIDPrefix: Int?

        /// Options with their defaults.
        public init() {}
    }

    /// An application: what a Pusher dashboard calls app id, key and secret.
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
        /// The server's certificate in PEM form, followed by those between it and the root.
        public var certificateChain: String
        /// The certificate's private key in PEM form, not encrypted.
        public var privateKey: String

        /// Makes a TLS configuration. The texts are checked by ``PusherTestServer/start()``.
        public init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }
}

extension PusherTestServer.Application: CustomStringConvertible {
    /// Id and key; the secret is left out.
    public var description: String { "Application(id: \(id), key: \(key))" }
}

extension PusherTestServer.TLS: CustomStringConvertible {
    /// Nothing of the key.
    public var description: String { "TLS(certificateChain: \(certificateChain.utf8.count) bytes)" }
}
