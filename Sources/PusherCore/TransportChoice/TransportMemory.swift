/// The results of earlier attempts, for the transports of one server.
package struct TransportMemory: Hashable, Sendable {
    /// A successful transport, and the failures of other transports.
    package struct Success: Hashable, Sendable {
        package var transport: PusherTransport
        /// The time from the start to the server's first message.
        package var latency: Duration
        /// The failures of the other transports that the client tried.
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
        /// The transports of the attempt, in the order of preference.
        package var transports: [PusherTransport]
        /// The remembered transport and its time limit. It is one of `transports`. The client first tries only this
        /// transport.
        package var remembered: Remembered?
        /// The reasons why the client does not try other allowed transports.
        package var unused: [PusherTransport: PusherClientError] = [:]

        package struct Remembered: Hashable, Sendable {
            package var transport: PusherTransport
            package var timeout: Duration
            /// The reasons why the client does not first try the transports that the app prefers to the remembered one.
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

    /// The time after which the memory forgets a result.
    static let lifetime = Duration.seconds(30 * 60)
    /// The longest time in which the client tries only the remembered transport. An attempt must also have time for the
    /// other transports.
    static let longestTrial = Duration.seconds(3)
    /// The number of attempts that begin with a transport that the app prefers to the remembered one. Later attempts
    /// begin with the remembered transport.
    static let chances = 3
    static let maximumStreamLives = 2

    /// The transport of the last connection, with the failures of other transports.
    private var success: Success?
    /// Whether the transport of ``success`` has failed, or exceeded its time limit, in a later attempt.
    private var isForgotten = false
    private var successTime = Instant()
    /// The last failures of the other transports.
    private var failures: [PusherTransport: PusherClientError] = [:]
    /// The number of attempts that began with a transport that the app prefers to the remembered one.
    private var chancesTaken = 0
    private var streamLives = Self.maximumStreamLives
    /// The time of the last early loss of a stream.
    private var streamLostAt: Instant?

    package init() {}

    /// Plans the next attempt.
    ///
    /// - Parameter transports: The transports that are allowed and usable, in the order of preference.
    package mutating func plan(_ transports: [PusherTransport], now: Instant) -> Plan {
        var plan = Plan(transports)
        if let streamLostAt, now - streamLostAt > Self.lifetime {
            (streamLives, self.streamLostAt) = (Self.maximumStreamLives, nil)
        }
        if streamLives <= 0, transports.contains(.httpPolling), transports.contains(.httpStreaming) {
            plan.transports.removeAll { $0 == .httpStreaming }
            plan.unused[.httpStreaming] = .unstableStream(Self.maximumStreamLives)
        }
        if success != nil, now - successTime > Self.lifetime { (success, chancesTaken) = (nil, 0) }
        guard let success, !isForgotten, plan.transports.contains(success.transport), plan.transports.count > 1 else {
            return plan
        }
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

    /// Handles the server's greeting on a transport.
    package mutating func connected(_ success: Success, now: Instant) {
        if success.transport != self.success?.transport { chancesTaken = 0 }
        self.success = success
        isForgotten = false
        successTime = now
        failures.merge(success.failures) { $1 }
        failures[success.transport] = nil
    }

    /// Forgets the remembered transport, because it failed, or did not connect within its time limit. If the next
    /// connection uses the same transport again, ``chancesTaken`` does not start again at zero.
    package mutating func forget() { isForgotten = true }

    /// Handles a connection that the network interrupted, or on which no more data arrived.
    ///
    /// - Parameter shortest: The shortest lifetime that does not count as an early loss.
    package mutating func lost(_ transport: PusherTransport, lifetime: Duration, shortest: Duration, now: Instant) {
        guard transport == .httpStreaming, lifetime < shortest else { return }
        streamLives -= 1
        streamLostAt = now
    }
}
