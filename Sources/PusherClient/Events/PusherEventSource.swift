public import Foundation

/// A source of events: ``Pusher`` (all channels), ``PusherChannel``, ``PusherUser`` and ``PusherWatchlist``.
///
/// All of them have the same members: sequences for `async` code, and ``observe(named:_:)`` for callbacks. Both take
/// every event or those of one name, raw or decoded.
///
/// ```swift
/// for await event in channel.events(named: "created") { print(event.data ?? "") }
/// for await order in channel.values(named: "created", as: Order.self) { show(order) }
/// observation = channel.observe(named: "created") { event in print(event.data ?? "") }
/// ```
///
/// A sequence or an observation has every event from the moment it is made. Make it before you subscribe or connect, and
/// no event is missed.
///
/// | | as they come | decoded, with their sender | decoded values |
/// |---|---|---|---|
/// | sequence, every event | ``events`` | | |
/// | sequence, one name | ``events(named:)`` | ``events(named:as:decoder:)`` | ``values(named:as:decoder:)`` |
/// | callback, every event | ``observe(named:_:)`` without a name | | |
/// | callback, one name | ``observe(named:_:)`` | ``observe(named:as:decoder:_:)`` | |
/// | callback on the main actor | ``observe(named:on:_:)`` | ``observe(named:as:decoder:on:_:)`` | |
///
/// To decode, give a name too, because events of different names have different data. The events of a watchlist are
/// decoded already: they are ``WatchlistEvent``s.
public protocol PusherEventSource<Event>: Sendable {
    /// What is delivered: ``PusherEvent``, or ``WatchlistEvent`` for a watchlist.
    associatedtype Event: Sendable

    /// The basis of the other members. Do not use it in your code.
    var _listeners: _PusherListeners<Event> { get }
}

/// The listeners of a ``PusherEventSource``.
public struct _PusherListeners<Event: Sendable>: Sendable {
    let engine: ClientEngine
    /// Makes a sequence of the events of a name, or of all events if it is nil.
    let makeSequence: @Sendable (_ name: String?) -> EventSequence<Event>
    /// Binds a callback to a queue, for the events of a name or for all, and returns a closure that unbinds it.
    let bind:
        @Sendable (_ name: String?, _ queue: CallbackDispatcher, _ callback: @escaping @Sendable (Event) -> Void)
            -> EventObservation
}

// MARK: Sequences

extension PusherEventSource {
    /// Every event from now on.
    ///
    /// The events of a channel include those that the client makes itself: `pusher:subscription_succeeded`,
    /// `pusher:subscription_error`, `pusher:subscription_count`, `pusher:member_added` and `pusher:member_removed`. The
    /// sequence ends when the channel is unsubscribed or the client is released.
    public var events: EventSequence<Event> { _listeners.makeSequence(nil) }

    /// Every event of that name from now on, as in ``events``.
    public func events(named eventName: String) -> EventSequence<Event> { _listeners.makeSequence(eventName) }
}

extension PusherEventSource where Event == PusherEvent {
    /// Every event of that name from now on, with its data decoded and its sender.
    ///
    /// ```swift
    /// for await message in room.events(named: "client-message", as: Message.self) {
    ///     show(message.value, from: message.userId)
    /// }
    /// ```
    ///
    /// Events whose data does not fit the type are left out, and reported by ``Pusher/errors`` with the code
    /// ``PusherClientError/Code/undecodableData``. To handle them yourself, iterate ``events(named:)`` and call
    /// ``PusherEvent/decode(as:decoder:)``.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - type: The type to decode the data as, on the actor that iterates. Its conformance to `Decodable` may belong
    ///     to the main actor; then only code on the main actor can iterate the sequence.
    ///   - decoder: Decodes the data. Default: a new `JSONDecoder`.
    public func events<Value: Decodable>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) -> DecodedEventSequence<Value> {
        DecodedEventSequence(base: events(named: eventName), decoder: decoder, engine: _listeners.engine)
    }

    /// The decoded data of every event of that name from now on: ``events(named:as:decoder:)`` without the sender.
    ///
    /// ```swift
    /// for await order in channel.values(named: "created", as: Order.self) { show(order) }
    /// ```
    public func values<Value: Decodable>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) -> DecodedValueSequence<Value> {
        DecodedValueSequence(base: events(named: eventName, as: type, decoder: decoder))
    }
}

// MARK: Callbacks

extension PusherEventSource {
    /// Calls back for each event of a name, or for every event, until the returned observation is cancelled or
    /// released.
    ///
    /// ```swift
    /// observation = channel.observe(named: "created") { event in print(event.data ?? "") }
    /// ```
    ///
    /// - Parameters:
    ///   - eventName: The event's name. Default: every event.
    ///   - callback: Called on the callback queue (``PusherClientOptions/callbackQueue``).
    /// - Returns: The observation that keeps the callback bound. Store it in the object that the callback belongs to.
    public func observe(
        named eventName: String? = nil,
        _ callback: @escaping @Sendable (Event) -> Void
    ) -> EventObservation {
        _listeners.bind(eventName, _listeners.engine.dispatcher, callback)
    }

    /// Calls back on the main actor, whatever the callback queue, as ``observe(named:_:)`` does.
    ///
    /// ```swift
    /// observation = channel.observe(named: "created", on: MainActor.shared) { [weak self] event in
    ///     self?.label.text = event.data
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - eventName: The event's name. Default: every event.
    ///   - actor: `MainActor.shared`.
    ///   - callback: Called on the main actor, in the order of the events.
    /// - Returns: The observation that keeps the callback bound.
    public func observe(
        named eventName: String? = nil,
        on actor: MainActor,
        _ callback: @escaping @MainActor @Sendable (Event) -> Void
    ) -> EventObservation {
        // The main queue is the main actor's executor.
        _listeners.bind(eventName, _listeners.engine.mainDispatcher) { event in
            MainActor.assumeIsolated { callback(event) }
        }
    }
}

extension PusherEventSource where Event == PusherEvent {
    /// Calls back for each event of that name with its data decoded, until the returned observation is cancelled or
    /// released.
    ///
    /// Events whose data does not fit the type are left out, and reported by ``Pusher/errors`` with the code
    /// ``PusherClientError/Code/undecodableData``.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - type: The type to decode the data as, on the callback queue.
    ///   - decoder: Decodes the data. Default: a new `JSONDecoder`.
    ///   - callback: Called on the callback queue (``PusherClientOptions/callbackQueue``).
    /// - Returns: The observation that keeps the callback bound. Store it in the object that the callback belongs to.
    public func observe<Value: Decodable & SendableMetatype>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(),
        _ callback: @escaping @Sendable (TypedEvent<Value>) -> Void
    ) -> EventObservation {
        let engine = _listeners.engine
        return observe(named: eventName) { event in
            guard let value = engine.decode(event, as: type, decoder: decoder) else { return }
            callback(TypedEvent(value: value, event: event))
        }
    }

    /// Calls back on the main actor with the decoded data, as ``observe(named:as:decoder:_:)`` does.
    ///
    /// The type's conformance to `Decodable` may belong to the main actor, as it does by default in modules whose default
    /// isolation is the main actor.
    @MainActor
    public func observe<Value: Decodable>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder = JSONDecoder(),
        on actor: MainActor,
        _ callback: @escaping @MainActor (TypedEvent<Value>) -> Void
    ) -> EventObservation {
        let engine = _listeners.engine
        return observe(named: eventName, on: actor) { event in
            guard let value = engine.decode(event, as: type, decoder: decoder) else { return }
            callback(TypedEvent(value: value, event: event))
        }
    }
}

/// A callback that is bound for as long as this object lives. Store it in the object that the callback belongs to.
///
/// ``PusherEventSource/observe(named:_:)`` and its variants return it.
public final class EventObservation: Sendable {
    private let unbind: @Sendable () -> Void

    init(_ unbind: @escaping @Sendable () -> Void) { self.unbind = unbind }

    deinit { unbind() }

    /// Ends the calls. After this method has returned on the queue that runs the callback, the callback is not called
    /// again. Calling it again does nothing.
    public func cancel() { unbind() }
}

// MARK: The sources

extension Pusher: PusherEventSource {
    /// The listeners of all events, on every channel or without a channel.
    public var _listeners: _PusherListeners<PusherEvent> { engine.clientListeners.listeners(of: engine) }
}

extension PusherChannel: PusherEventSource {
    /// The listeners of this channel's events.
    public var _listeners: _PusherListeners<PusherEvent> { listeners.listeners(of: engine) }
}

extension PusherUser: PusherEventSource {
    /// The listeners of the user's events, including `pusher:signin_success` and `pusher:signin_error`.
    public var _listeners: _PusherListeners<PusherEvent> { engine.userListeners.listeners(of: engine) }
}

extension PusherWatchlist: PusherEventSource {
    /// The listeners of the events `online` and `offline` of watched users.
    public var _listeners: _PusherListeners<WatchlistEvent> {
        _PusherListeners(
            engine: engine,
            makeSequence: { [engine] name in engine.watchlistEvents.makeSequence { name == nil || $0.name == name } },
            bind: { [engine] name, queue, callback in
                let callbacks = engine.watchlistCallbacks
                guard let id = callbacks.bind(name, by: queue, limit: engine.limits.bindings, callback) else {
                    _ = engine.reportUnbound("the watchlist")
                    return EventObservation {}
                }
                return EventObservation { [weak callbacks] in callbacks?.unbind(id) }
            }
        )
    }
}

extension ListenerRegistry {
    fileprivate func listeners(of engine: ClientEngine) -> _PusherListeners<PusherEvent> {
        _PusherListeners(
            engine: engine,
            makeSequence: { [self] name in makeSequence(name) },
            bind: { [self] name, queue, callback in
                let id = engine.bind(name, to: self, by: queue, callback)
                // Does not retain the registry, because an observation may outlive its channel.
                return EventObservation { [weak self] in self?.unbind(name, id: id) }
            }
        )
    }
}
