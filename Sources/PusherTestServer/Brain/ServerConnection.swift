import PusherProtocol

/// The brain's data about a connection.
struct ServerConnection: Sendable {
    enum Phase: Hashable, Sendable {
        /// The client has requested the connection, and the server has not answered. After the fault `stalled`, the
        /// server never answers.
        case stalled
        case open
        /// The server has sent its close frame, and waits for the client's close frame.
        case closing
        /// The server is about to close the TCP connection.
        case ended
    }

    /// An element of the output.
    enum Outgoing: Hashable, Sendable {
        case frame(OutgoingFrame)
        case end
    }

    /// The socket id that the client receives. An authorization is valid for one socket id only.
    let socketID: String
    let request: PusherTestServer.Request
    /// The session of a connection over HTTP; nil for a WebSocket.
    var http: HTTPSession?
    var phase: Phase
    var isEstablished = false
    var isSilent = false
    /// Oldest subscription first.
    var channels = OrderedNames<String>()
    var user: SignedInUser?
    /// The arrival times of the accepted client events of the last second.
    var clientEventTimes: [Duration] = []
    /// The start of the message limit's current window, and the number of messages in this window.
    var messageWindow: (start: Duration, count: Int)?

    var outbox = DelayedQueue<Outgoing>()
    var lastUndelayed = 0
    var pingTimer: TimerID?
    var pongTimer: TimerID?
    /// The timer of the idle limit. Messages do not restart the timer, so the brain checks the length of the silence
    /// when the timer fires.
    var idleTimer: TimerID?
    /// The time from which the brain measures the client's silence.
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
    /// Returns the open connections that a command addresses, oldest first.
    func connections(_ target: PusherTestServer.Target) -> [ConnectionID] {
        let ids: [ConnectionID]
        switch target {
        case .all: ids = connections.keys.sorted()
        case .socket(let socketID): ids = connections.keys.filter { self.socketID(of: $0) == socketID }
        case .subscribers(let channel): ids = subscribers[channel] ?? []
        }
        return ids.filter { connections[$0]?.phase == .open }
    }

    /// The open connections as values for tests, oldest first.
    package var openConnections: [PusherTestServer.Connection] { values(connections(.all)) }

    /// Returns the open connections that match as values for tests, oldest first; nil if there are fewer than `count`.
    /// A wait calls this method after each change, so it makes no values before there are enough connections.
    func openConnections(
        _ target: PusherTestServer.Target,
        atLeast count: Int,
        where matches: (ServerConnection) -> Bool = { _ in true }
    ) -> [PusherTestServer.Connection]? {
        let ids = connections(target).filter { connections[$0].map(matches) == true }
        return ids.count >= count ? values(ids.sorted()) : nil
    }

    private func values(_ ids: [ConnectionID]) -> [PusherTestServer.Connection] {
        ids.compactMap { id in
            connections[id].map { connection in
                PusherTestServer.Connection(
                    socketID: socketID(of: id),
                    request: connection.request,
                    transport: connection.transport,
                    subscribedChannels: connection.channels.elements,
                    userID: connection.user?.id,
                    isEstablished: connection.isEstablished,
                    isSilent: connection.isSilent
                )
            }
        }
    }

    /// Returns the number of subscribers, including simulated members.
    package func subscriptionCount(of channel: String) -> Int { subscribers[channel]?.count ?? 0 }

    /// Returns the number of subscribed connections, without simulated members.
    func connectionCount(of channel: String) -> Int {
        (subscribers[channel] ?? []).count { connections[$0] != nil }
    }
}
