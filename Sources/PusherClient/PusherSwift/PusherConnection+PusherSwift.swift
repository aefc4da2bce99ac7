public import Foundation

/// Members for PusherSwift code only. New code does not need them.
extension PusherConnection {
    /// ``reconnectAttemptsMax``, for Objective-C.
    @available(*, deprecated, renamed: "reconnectAttemptsMax")
    public var OCReconnectAttemptsMax: NSNumber? {
        get { reconnectAttemptsMax.map { NSNumber(value: $0) } }
        set { reconnectAttemptsMax = newValue?.intValue }
    }

    /// ``maxReconnectGapInSeconds``, for Objective-C.
    @available(*, deprecated, renamed: "maxReconnectGapInSeconds")
    public var OCMaxReconnectGapInSeconds: NSNumber? {
        get { maxReconnectGapInSeconds.map { NSNumber(value: $0) } }
        set { maxReconnectGapInSeconds = newValue?.doubleValue }
    }

    /// Delivers an event to the callbacks and sequences of the client and of the event's channel, as if the event had
    /// arrived again.
    @available(*, deprecated, message: "Events come from the server. Call your own code instead.")
    public func handleEvent(event: PusherEvent) {
        let channel = event.channelName.flatMap { channels.find(name: $0) }
        engine.deliverAgain(event, to: engine.clientListeners, channel?.listeners)
    }

    /// Reports an error to the delegate and to ``Pusher/errors``, as if it had occurred again.
    @available(*, deprecated, message: "Errors come from the server. Call your own code instead.")
    public func handleError(error: PusherError) {
        engine.step { state, _ in state.pending.append(.report(error.clientError)) }
    }
}
