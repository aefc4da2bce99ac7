import Logging
import NIOCore

/// What whoever reads nothing but the log has to know.
extension ClientEngine {
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
}
