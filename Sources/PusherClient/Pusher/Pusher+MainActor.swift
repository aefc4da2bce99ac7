public import Foundation

/// Callbacks that belong to the main actor: they may touch what the user sees, whatever queue the options name for the
/// others, and the compiler knows it.
extension Pusher {
    /// Calls back on the main actor for every event on every channel, and for those that belong to none.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @discardableResult
    public func bindOnMain(eventCallback: @escaping @MainActor @Sendable (PusherEvent) -> Void) -> String {
        engine.bindOnMain(nil, to: engine.everyEvent, eventCallback)
    }

    /// Calls back on the main actor for every event of that name, on whatever channel.
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @discardableResult
    public func bindOnMain(
        eventName: String,
        eventCallback: @escaping @MainActor @Sendable (PusherEvent) -> Void
    ) -> String {
        engine.bindOnMain(eventName, to: engine.everyEvent, eventCallback)
    }
}

extension PusherChannel {
    /// Calls back on the main actor for each event of that name on this channel, whatever queue the options name for
    /// other callbacks.
    ///
    /// ```swift
    /// channel.bindOnMain(eventName: "created") { [weak self] event in self?.label.text = event.data }
    /// ```
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @discardableResult
    public func bindOnMain(
        eventName: String,
        eventCallback: @escaping @MainActor @Sendable (PusherEvent) -> Void
    ) -> String {
        engine.bindOnMain(eventName, to: listeners, eventCallback)
    }

    /// Calls back on the main actor for every event on this channel.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @discardableResult
    public func bindOnMain(eventCallback: @escaping @MainActor @Sendable (PusherEvent) -> Void) -> String {
        engine.bindOnMain(nil, to: listeners, eventCallback)
    }

    /// Calls back on the main actor with the decoded data of each event of that name, as
    /// ``bind(eventName:as:decoder:eventCallback:)`` does.
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @discardableResult
    public func bindOnMain<Value: Decodable & Sendable>(
        eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(),
        eventCallback: @escaping @MainActor @Sendable (Value) -> Void
    ) -> String {
        engine.bindOnMain(eventName, to: listeners) { [engine] event in
            if let value = engine.decode(event, as: type, decoder: decoder) { eventCallback(value) }
        }
    }
}

extension PusherUser {
    /// Calls back on the main actor for each event of that name that is sent to the user, whatever queue the options
    /// name for other callbacks.
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @discardableResult
    public func bindOnMain(
        eventName: String,
        eventCallback: @escaping @MainActor @Sendable (PusherEvent) -> Void
    ) -> String {
        engine.bindOnMain(eventName, to: engine.userEvents, eventCallback)
    }

    /// Calls back on the main actor for every event that is sent to the user.
    ///
    /// - Returns: An id for ``unbind(callbackId:)``.
    @discardableResult
    public func bindOnMain(eventCallback: @escaping @MainActor @Sendable (PusherEvent) -> Void) -> String {
        engine.bindOnMain(nil, to: engine.userEvents, eventCallback)
    }
}

extension ClientEngine {
    fileprivate func bindOnMain(
        _ name: String?,
        to listeners: ListenerRegistry,
        _ callback: @escaping @MainActor @Sendable (PusherEvent) -> Void
    ) -> String {
        // The main queue is the main actor's executor.
        bind(name, to: listeners, by: mainDispatcher) { event in MainActor.assumeIsolated { callback(event) } }
    }
}
