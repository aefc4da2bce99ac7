import Logging
import NIOCore
import PusherProtocol

/// Telling those who read the log, the statistics or the delegate's errors what happens.
extension ClientEngine {
    // MARK: The connection

    /// What somebody should know who follows nothing but the log is a warning: the first failure of an outage, and the
    /// end of all attempts.
    func log(_ status: ConnectionStatus) {
        // The reason has a key of its own.
        var metadata: Logger.Metadata = ["pusher.status": "\(status.descriptionWithoutReason(at: clock()))"]
        if let reason = status.reason { metadata["pusher.error"] = "\(reason.code): \(reason.message)" }
        if case .connected = status, let transport = read({ $0.machine.connection.statistics.transport }) {
            metadata["pusher.transport"] = "\(transport)"
        }
        switch status {
        case .waiting where !loopState.value.hasLoggedOutage, .refused, .disconnected(_?):
            loopState.value.hasLoggedOutage = true
            logger.warning("\(connectionStateText(status))", metadata: metadata)
        case .connected where loopState.value.hasLoggedOutage:
            loopState.value.hasLoggedOutage = false
            // As loud as what it puts an end to.
            metadata["pusher.outage"] = "\(read { $0.machine.connection.lastOutage } ?? .zero)"
            logger.warning("Connected again", metadata: metadata)
        case .initialized, .connecting, .connected, .unavailable, .waiting, .disconnecting, .disconnected(nil):
            logger.debug("Connection status", metadata: metadata)
        }
    }

    func logKeepAlive() {
        let keepAlive = read { $0.machine.keepAlive }
        guard keepAlive.interval != loopState.value.keepAliveInterval else { return }
        loopState.value.keepAliveInterval = keepAlive.interval
        if let interval = keepAlive.interval, let silence = keepAlive.lastSilence {
            debug("pinging after \(interval) without a message: a connection was lost after \(silence) without one")
        } else {
            debug("pinging after the activity timeout only")
        }
    }

    /// Says which transport carries the connection, and why a better one does not, when that changes.
    func logTransport() {
        guard options.transports != .webSocket else { return }
        let statistics = read { $0.machine.connection.statistics }
        guard let transport = statistics.transport else { return }
        let report = TransportReport(transport, unused: statistics.unusedTransports)
        guard report != loopState.value.transport else { return }
        loopState.value.transport = report
        debug("connected by \(transport)")
        guard !report.unused.isEmpty else { return }
        let reasons = options.transports.elements.compactMap { transport in
            report.unused[transport].map { "\(transport): \($0.code): \($0.message)" }
        }
        logger.notice(
            "A transport is not used",
            metadata: ["pusher.transport": "\(transport)", "pusher.unused": "\(reasons.joined(separator: "; "))"]
        )
    }

    private func connectionStateText(_ status: ConnectionStatus) -> String {
        switch status {
        case .waiting: "There is no connection; trying again"
        case .refused(let reason) where reason.code != .connectionRefused: "No connection can be made"
        case .refused: "The connection is refused"
        default: "The connection has ended"
        }
    }

    func report(_ error: PusherClientError) {
        if !warn(error) { logger.notice("Error", metadata: ["pusher.error": "\(error.code): \(error.message)"]) }
        tellDelegate("error: \(error.message)")
        publish(error)
        let reported = PusherError(error)
        notify { $0.receivedError(error: reported) }
    }

    /// Calls the delegate, if there is one by then, on the callback queue.
    func notify(
        keep retention: CallbackDispatcher.Retention = .newest,
        _ call: @escaping @Sendable (any PusherDelegate) -> Void
    ) {
        guard read({ $0.delegate.value }) != nil else { return }
        dispatcher.enqueue(keep: retention, for: self) {
            guard let delegate = self.read({ $0.delegate.value }) else { return }
            call(delegate)
        }
    }

    /// Writes a line to the log, at debug, and tells the delegate.
    func debug(_ message: @autoclosure () -> String) {
        guard logger.logLevel <= .debug || read({ $0.delegate.value }) != nil else { return }
        let message = message()
        logger.debug("\(message.escapingControls)")
        tellDelegate(message)
    }

    /// Tells the delegate what the log says in its own way.
    func tellDelegate(_ message: @autoclosure () -> String) {
        guard read({ $0.delegate.value }) != nil else { return }
        let message = message().escapingControls
        notify { $0.debugLog(message: "[PUSHER DEBUG] \(message)") }
    }

    /// Writes a message to the log. Of those that have a signature in them, or may have, no more than is safe.
    func trace(_ what: Logger.Message, _ envelope: Envelope, _ text: String) {
        let shown: String
        switch envelope.event {
        case EventName.subscribe, EventName.signIn, EventName.signInSuccess:
            let channel = envelope.data.value?["channel"]?.string
            shown = "\(envelope.event) \(channel ?? "")"
        case EventName.error, EventName.subscriptionError:
            shown = ServerErrorMessage.presentable(text)
        default:
            shown = text
        }
        logger.trace(what, metadata: ["pusher.message": "\(shown.escapingControls)"])
    }

    // MARK: Warnings

    /// The errors that only a change of the app, of its backend or of their settings can end.
    static let warnings: [PusherClientError.Code: Logger.Message] = [
        .undecodableData: "An event does not fit the type that it is decoded as",
        .invalidEventName: "An event was not sent",
        .clientEventsNotAllowed: "An event was not sent",
        .invalidClientEventData: "An event was not sent",
        .clientEventTooBig: "An event was not sent",
        .clientEventQueueFull: "An event was not sent",
        .notSubscribed: "An event was not sent",
        .unsubscribed: "An event was not sent",
        .clientEventRejected: "The server rejected an event",
        .decryptionFailed: "An event cannot be decrypted",
        .payloadTransformerFailed: "The payload transformer failed",
        .tooManyBindings: "A callback was not bound",
        .notConnected: "There is no connection",
    ]

    /// Writes a warning to the log, if its kind was not there for a minute. Called on the event loop.
    ///
    /// - Returns: False if the log has nothing of the error.
    @discardableResult
    func warn(_ error: PusherClientError) -> Bool {
        guard let warning = Self.warnings[error.code] else { return false }
        let kind = WarningLimiter.Kind(
            code: error.code,
            channelName: error.channelName,
            eventName: error.eventName
        )
        guard let omitted = loopState.value.warnings.admit(kind, now: now()) else { return false }
        var metadata: Logger.Metadata = ["pusher.error": "\(error.code): \(error.message)"]
        if let channelName = error.channelName {
            metadata["pusher.channel"] = "\(channelName.prefix(fittingUTF8Bytes: 200).escapingControls)"
        }
        if omitted > 0 { metadata["pusher.omitted"] = "\(omitted)" }
        logger.warning(warning, metadata: metadata)
        return true
    }

    /// Has the log say that a call waits for a connection which nobody has asked for, if that is still so after 5 s.
    ///
    /// - Returns: What has to be cancelled when the call comes back; nil if there is a connection, or one is being made.
    func watchForConnection(_ call: String) -> Scheduled<Void>? {
        guard !isConnectionWanted else { return nil }
        return eventLoop.scheduleTask(in: CallbackDispatcher.patience) { [weak self] in
            guard let self, !self.isConnectionWanted else { return }
            let message = "\(call) has waited for 5 s, and nothing connects: call connect()"
            var error = PusherClientError(.notConnected, message)
            // Or an event that was not sent would hide it. What waits has one warning for all.
            error.eventName = "waiting"
            self.warn(error)
        }
    }

    private var isConnectionWanted: Bool { read { $0.machine.connection.isWanted } }

    // MARK: Statistics

    var statistics: PusherStatistics {
        let now = now()
        // A callback on the event loop asks in the middle of a read.
        if eventLoop.inEventLoop { publishCounts() }
        let droppedCallbacks = dispatchers.reduce(0) { $0 + $1.droppedCount }
        var statistics = read { state in
            var statistics = state.machine.statistics(now: now)
            statistics.add(state.counts)
            return statistics
        }
        statistics.events.add(droppedCallbacks, to: .callbackOverflow)
        return statistics
    }

    /// Makes what the event loop has counted visible in ``statistics``.
    func publishCounts() {
        let counts = takeCounts()
        update { $0.counts.add(counts) }
    }

    /// Takes what the event loop has counted. The caller adds it to the counts under the lock.
    func takeCounts() -> DeliveryCounts {
        var counts = DeliveryCounts()
        swap(&counts, &loopState.value.counts)
        if let claimant = loopState.value.claimant { counts.add(claimant.takeCounts()) }
        return counts
    }
}
