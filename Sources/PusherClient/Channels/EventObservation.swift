public import Foundation

/// A callback that is bound for as long as this object lives: hold it in whatever the callback belongs to.
///
/// Made by ``PusherChannel/observe(eventName:eventCallback:)`` and its likes.
public final class EventObservation: Sendable {
    private let unbind: @Sendable () -> Void

    init(_ unbind: @escaping @Sendable () -> Void) { self.unbind = unbind }

    deinit { unbind() }

    /// Ends the calls. Called on the queue that runs it, no call begins after it has returned. Calling it again does
    /// nothing.
    public func cancel() { unbind() }
}

extension PusherChannel {
    /// Calls back for each event of that name on this channel, on the callback queue, until what is returned is
    /// cancelled or released.
    ///
    /// ```swift
    /// observation = channel.observe(eventName: "created") { [weak self] event in self?.show(event) }
    /// ```
    public func observe(
        eventName: String,
        eventCallback: @escaping @Sendable (PusherEvent) -> Void
    ) -> EventObservation {
        listeners.observation(of: eventName, bind(eventName: eventName, eventCallback: eventCallback))
    }

    /// Calls back for every event on this channel, as ``observe(eventName:eventCallback:)`` does.
    public func observe(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> EventObservation {
        listeners.observation(of: nil, bind(eventCallback: eventCallback))
    }

    /// Calls back with the decoded data of each event of that name, as ``bind(eventName:as:decoder:eventCallback:)``
    /// does, until what is returned is cancelled or released.
    public func observe<Value: Decodable & Sendable>(
        eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(),
        eventCallback: @escaping @Sendable (Value) -> Void
    ) -> EventObservation {
        listeners.observation(
            of: eventName,
            bind(eventName: eventName, as: type, decoder: decoder, eventCallback: eventCallback)
        )
    }

    /// Calls back on the main actor for each event of that name, as ``bindOnMain(eventName:eventCallback:)`` does,
    /// until what is returned is cancelled or released.
    public func observeOnMain(
        eventName: String,
        eventCallback: @escaping @MainActor @Sendable (PusherEvent) -> Void
    ) -> EventObservation {
        listeners.observation(of: eventName, bindOnMain(eventName: eventName, eventCallback: eventCallback))
    }
}

extension Pusher {
    /// Calls back for every event on every channel, and for those that belong to none, on the callback queue, until
    /// what is returned is cancelled or released.
    public func observe(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> EventObservation {
        engine.everyEvent.observation(of: nil, bind(eventCallback: eventCallback))
    }

    /// Calls back for every event of that name, on whatever channel, as ``observe(eventCallback:)`` does.
    public func observe(
        eventName: String,
        eventCallback: @escaping @Sendable (PusherEvent) -> Void
    ) -> EventObservation {
        engine.everyEvent.observation(of: eventName, bind(eventName: eventName, eventCallback: eventCallback))
    }
}

extension PusherUser {
    /// Calls back for each event of that name that is sent to the user, as ``bind(eventName:eventCallback:)`` does,
    /// until what is returned is cancelled or released.
    public func observe(
        eventName: String,
        eventCallback: @escaping @Sendable (PusherEvent) -> Void
    ) -> EventObservation {
        engine.userEvents.observation(of: eventName, bind(eventName: eventName, eventCallback: eventCallback))
    }

    /// Calls back for every event that is sent to the user, as ``observe(eventName:eventCallback:)`` does.
    public func observe(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> EventObservation {
        engine.userEvents.observation(of: nil, bind(eventCallback: eventCallback))
    }
}

extension ListenerRegistry {
    /// Does not keep the registry: an observation may outlive its channel.
    fileprivate func observation(of name: String?, _ id: String) -> EventObservation {
        EventObservation { [weak self] in self?.unbind(name, id: id) }
    }
}
