import Logging
import NIOCore
import PusherProtocol

/// Reports to the log, to the statistics and to the delegate.
extension ClientEngine {
    // MARK: The connection

    /// Logs a status. The level is warning for the first failure of an outage, for the end of an outage, and when the
    /// client stops. A person who reads only the log must know about these events.
    func log(_ status: ConnectionStatus) {
        // The reason has its own metadata key.
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
            // This message has the level of the message that reported the outage.
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
            debug("pinging after \(interval) of silence: a connection was lost after \(silence) of silence")
        } else {
            debug("pinging after the activity timeout only")
        }
    }

    /// Logs the transport of the connection, and the reasons why the client does not use other transports, if any of
    /// these values has changed.
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
        case .waiting: "No connection. The client tries again."
        case .refused(let reason) where reason.code != .connectionRefused: "The client cannot connect."
        case .refused: "The server refuses the connection."
        default: "The client has stopped."
        }
    }

    func report(_ error: PusherClientError) {
        if !warn(error) { logger.notice("Error", metadata: ["pusher.error": "\(error.code): \(error.message)"]) }
        tellDelegate("error: \(error.message)")
        publish(error)
        let reported = PusherError(error)
        notify { $0.receivedError(error: reported) }
    }

    /// Calls the delegate on the callback queue, if there is a delegate when the job runs.
    ///
    /// - Parameters:
    ///   - size: The size of the function's values, in bytes, if it is large.
    ///   - isEvent: Whether the call is for an event of the connection. See ``CallbackDispatcher``.
    func notify(
        keep retention: CallbackDispatcher.Retention = .newest,
        size: Int = 0,
        isEvent: Bool = false,
        _ call: @escaping @Sendable (any PusherDelegate) -> Void
    ) {
        guard read({ $0.delegate.value }) != nil else { return }
        dispatcher.enqueue(keep: retention, size: size, isEvent: isEvent, for: self) {
            guard let delegate = self.read({ $0.delegate.value }) else { return }
            call(delegate)
        }
    }

    /// Writes a line to the log at the level debug, and calls the delegate with it.
    func debug(_ message: @autoclosure () -> String) {
        guard logger.logLevel <= .debug || read({ $0.delegate.value }) != nil else { return }
        let message = message()
        logger.debug("\(message.escapingControls)")
        tellDelegate(message)
    }

    /// Calls the delegate with a line that the log contains in another form.
    func tellDelegate(_ message: @autoclosure () -> String) {
        guard read({ $0.delegate.value }) != nil else { return }
        let message = message().escapingControls
        notify { $0.debugLog(message: "[PUSHER DEBUG] \(message)") }
    }

    /// Writes a message to the log. If a message can contain a signature, the log gets the message without the
    /// signature.
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

    /// The errors that require a change of the app, the backend or the settings.
    static let warnings: [PusherClientError.Code: Logger.Message] = [
        .undecodableData: "The data of an event does not fit the expected type",
        .invalidEventName: "An event was not sent",
        .clientEventsNotAllowed: "An event was not sent",
        .invalidClientEventData: "An event was not sent",
        .clientEventTooBig: "An event was not sent",
        .clientEventQueueFull: "An event was not sent",
        .notSubscribed: "An event was not sent",
        .unsubscribed: "An event was not sent",
        .unanswered: "An event may not have arrived",
        .clientEventRejected: "The server rejected an event",
        .decryptionFailed: "An event cannot be decrypted",
        .payloadTransformerFailed: "The payload transformer failed",
        .tooManyBindings: "A callback was not bound",
        .notConnected: "There is no connection",
        .serverError: "The server reported an error",
        .malformedMessage: "The server sent a message that the client cannot read",
        .invalidAuthorization: "The key of an encrypted channel is invalid",
    ]

    /// Writes a warning to the log, unless the client logged a warning of this kind in the last minute. Call this
    /// method on the event loop.
    ///
    /// - Returns: Whether the error is a warning, even if the method has omitted it.
    @discardableResult
    func warn(_ error: PusherClientError) -> Bool {
        // A server's error about a channel fails the subscription or the event, and this failure is reported too.
        guard let warning = Self.warnings[error.code], error.code != .serverError || error.channelName == nil else {
            return false
        }
        let kind = WarningLimiter.Kind(
            code: error.code,
            channelName: error.channelName,
            eventName: error.eventName
        )
        guard let omitted = loopState.value.warnings.admit(kind, now: now()) else { return true }
        var metadata: Logger.Metadata = ["pusher.error": "\(error.code): \(error.message)"]
        if let channelName = error.channelName {
            metadata["pusher.channel"] = "\(channelName.prefix(fittingUTF8Bytes: 200).escapingControls)"
        }
        if omitted > 0 { metadata["pusher.omitted"] = "\(omitted)" }
        logger.warning(warning, metadata: metadata)
        return true
    }

    /// Logs a warning if a call or a loop waits for a connection, and no attempt to connect has begun after 5 s.
    ///
    /// - Parameter isWaiting: Whether the call or the loop still waits.
    /// - Returns: The scheduled check, to cancel when the call returns. Nil if the app already wants a connection.
    @discardableResult
    func watchForConnection(
        _ call: String,
        isWaiting: @escaping @Sendable () -> Bool = { true }
    ) -> Scheduled<Void>? {
        guard !isConnectionWanted else { return nil }
        return eventLoop.scheduleTask(in: CallbackDispatcher.patience) { [weak self] in
            guard let self, !self.isConnectionWanted, isWaiting() else { return }
            let message = "\(call) has waited for 5 s, and the client is not connecting. Call connect()."
            var error = PusherClientError(.notConnected, message)
            // Without this name, the warning about an event that was not sent would suppress this warning. All waiting
            // calls share one warning.
            error.setEventName("waiting")
            self.warn(error)
        }
    }

    /// Warns about calls of `connect()` that the client delays.
    func warnOfHastyConnects() {
        var error = PusherClientError.hastyConnects
        tellDelegate("warning: \(error.message)")
        // As above, this name gives the warning a kind of its own.
        error.setEventName("connect")
        warn(error)
    }

    private var isConnectionWanted: Bool { read { $0.machine.connection.isWanted } }

    // MARK: Statistics

    var statistics: PusherStatistics {
        let now = now()
        // If a callback on the event loop reads the statistics during a read, the counts of this read are not published
        // yet.
        if eventLoop.inEventLoop { publishCounts() }
        var droppedCallbacks = 0
        listenerContext.forEachDispatcher { droppedCallbacks += $0.droppedCount }
        var statistics = read { state in
            var statistics = state.machine.statistics(now: now)
            statistics.add(state.counts)
            return statistics
        }
        statistics.events.add(droppedCallbacks, to: .callbackOverflow)
        return statistics
    }

    /// Publishes the event loop's counts in ``statistics``.
    func publishCounts() {
        let counts = takeCounts()
        update { $0.counts.add(counts) }
    }

    /// Removes the event loop's counts. The caller adds them to the counts under the lock.
    func takeCounts() -> DeliveryCounts {
        var counts = DeliveryCounts()
        swap(&counts, &loopState.value.counts)
        if let directReceiver = loopState.value.directReceiver { counts.add(directReceiver.takeCounts()) }
        return counts
    }
}
