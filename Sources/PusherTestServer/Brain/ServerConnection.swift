/// The brain's data about a connection.
struct ServerConnection: Sendable {
    enum Phase: Hashable, Sendable {
        /// The upgrade was requested, and is never answered.
        case stalled
        case open
        /// The server has sent its close frame, and waits for the client's.
        case closing
        /// TCP is about to end.
        case ended
    }

    /// The output, in order.
    enum Outgoing: Hashable, Sendable {
        case frame(OutgoingFrame)
        case end
    }

    /// The id that the client is told, and signs with.
    let socketID: String
    let request: PusherTestServer.Request
    /// Nil for a WebSocket.
    var http: HTTPSession?
    var phase: Phase
    var isEstablished = false
    var isSilent = false
    /// Oldest subscription first.
    var channels: [String] = []
    var user: SignedInUser?
    /// When the client events of the last second arrived.
    var clientEventTimes: [Duration] = []
    /// When the window of the message limit began, and how many messages it has had.
    var messageWindow: (start: Duration, count: Int)?

    var outbox = DelayedQueue<Outgoing>()
    var lastUndelayed = 0
    var pingTimer: TimerID?
    var pongTimer: TimerID?
    /// Not restarted for each message: when it fires, it checks how long the client has been silent.
    var idleTimer: TimerID?
    /// When the client last sent something.
    var lastActivity = Duration.zero
    var closeTimer: TimerID?
}

extension ServerConnection {
    fileprivate var transport: PusherTestServer.Transport {
        guard let http else { return .webSocket }
        return http.isStreaming ? .httpStreaming : .httpPolling
    }
}

extension ServerBrain {
    /// The open connections that a command addresses, oldest first.
    func connections(_ target: PusherTestServer.Target) -> [ConnectionID] {
        let ids: [ConnectionID]
        switch target {
        case .all: ids = connections.keys.sorted()
        case .socket(let socketID): ids = connections.keys.filter { self.socketID(of: $0) == socketID }
        case .subscribers(let channel): ids = subscribers[channel] ?? []
        }
        return ids.filter { connections[$0]?.phase == .open }
    }

    /// The open connections for a reader, oldest first.
    package var openConnections: [PusherTestServer.Connection] {
        connections(.all).compactMap { id in
            connections[id].map { connection in
                PusherTestServer.Connection(
                    socketID: socketID(of: id),
                    request: connection.request,
                    transport: connection.transport,
                    subscribedChannels: connection.channels,
                    userId: connection.user?.id,
                    isEstablished: connection.isEstablished,
                    isSilent: connection.isSilent
                )
            }
        }
    }

    /// Counts members without a connection too.
    package func subscriptionCount(of channel: String) -> Int { subscribers[channel]?.count ?? 0 }

    /// Counts connections only.
    func connectionCount(of channel: String) -> Int {
        (subscribers[channel] ?? []).count { connections[$0] != nil }
    }
}
