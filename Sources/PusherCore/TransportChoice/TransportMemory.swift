/// The results of earlier attempts, for the transports of one server.
package struct TransportMemory: Hashable, Sendable {
    /// The transport of a connection, and the failures of the others.
    package struct Success: Hashable, Sendable {
        package var transport: PusherTransport
        /// The time from the start to the server's first message.
        package var latency: Duration
        /// The failures of the other transports that were tried.
        package var failures: [PusherTransport: PusherClientError]

        package init(
            transport: PusherTransport,
            latency: Duration,
            failures: [PusherTransport: PusherClientError] = [:]
        ) {
            self.transport = transport
            self.latency = latency
            self.failures = failures
        }
    }

    /// The plan of an attempt.
    package struct Plan: Hashable, Sendable {
        /// In the order of preference.
        package var transports: [PusherTransport]
        /// The transport that is tried alone first, and for how long.
        package var remembered: Remembered?
        /// Why other allowed transports are not tried.
        package var unused: [PusherTransport: PusherClientError] = [:]

        package struct Remembered: Hashable, Sendable {
            package var transport: PusherTransport
            package var timeout: Duration
            /// Why better ones are not tried before it.
            package var unused: [PusherTransport: PusherClientError] = [:]

            package init(_ transport: PusherTransport, timeout: Duration) {
                self.transport = transport
                self.timeout = timeout
            }
        }

        package init(_ transports: [PusherTransport], remembered: Remembered? = nil) {
            self.transports = transports
            self.remembered = remembered
        }
    }

    /// How long anything is remembered.
    static let lifetime = Duration.seconds(30 * 60)
    /// How long a remembered transport is tried alone at the most: an attempt has to have time for the others.
    static let longestTrial = Duration.seconds(3)
    /// How often a better transport is tried again before one that is not as good.
    static let chances = 3
    static let streamLives = 2

    /// The success of the last connection.
    private var success: Success?
    private var successTime = Instant()
    /// The last failures of the other transports.
    private var failures: [PusherTransport: PusherClientError] = [:]
    /// How often a preferred transport was tried before the remembered one.
    private var chancesTaken = 0
    private var streamLives = Self.streamLives
    /// When a stream was last lost early.
    private var streamLostAt: Instant?

    package init() {}

    /// Plans the next attempt.
    ///
    /// - Parameter transports: The transports that are allowed and usable, in the order of preference.
    package mutating func plan(_ transports: [PusherTransport], now: Instant) -> Plan {
        var plan = Plan(transports)
        if let streamLostAt, now - streamLostAt > Self.lifetime {
            (streamLives, self.streamLostAt) = (Self.streamLives, nil)
        }
        if streamLives <= 0, transports.contains(.httpPolling), transports.contains(.httpStreaming) {
            plan.transports.removeAll { $0 == .httpStreaming }
            plan.unused[.httpStreaming] = .unstableStream(Self.streamLives)
        }
        if success != nil, now - successTime > Self.lifetime { forget() }
        guard let success, plan.transports.contains(success.transport), plan.transports.count > 1 else { return plan }
        if success.transport != plan.transports.first {
            guard chancesTaken >= Self.chances else {
                chancesTaken += 1
                return plan
            }
        }
        let timeout = min(success.latency * 2 + .seconds(1), Self.longestTrial)
        var remembered = Plan.Remembered(success.transport, timeout: timeout)
        for better in plan.transports.prefix(while: { $0 != success.transport }) {
            remembered.unused[better] = failures[better].map { .notTried(before: success.transport, $0) }
        }
        plan.remembered = remembered
        return plan
    }

    /// Handles that the server has greeted the client on a transport.
    package mutating func connected(_ success: Success, now: Instant) {
        if success.transport != self.success?.transport { chancesTaken = 0 }
        self.success = success
        successTime = now
        failures.merge(success.failures) { $1 }
        failures[success.transport] = nil
    }

    /// Forgets the remembered transport, because it did not connect.
    package mutating func forget() {
        success = nil
        chancesTaken = 0
    }

    /// Handles a connection that the network ended or silenced.
    ///
    /// - Parameter shortest: The shortest normal lifetime.
    package mutating func lost(_ transport: PusherTransport, lifetime: Duration, shortest: Duration, now: Instant) {
        guard transport == .httpStreaming, lifetime < shortest else { return }
        streamLives -= 1
        streamLostAt = now
    }
}

extension TransportClosure {
    /// Whether the network ended the connection, and neither the server nor the client on account of what came.
    package var isLoss: Bool {
        switch error?.code {
        case nil, .connectionClosed?, .tlsFailed?: code == nil
        default: false
        }
    }
}
