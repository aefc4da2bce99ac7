public import Foundation

/// A source of events: ``Pusher`` (all channels), ``PusherChannel``, ``PusherUser`` and ``PusherWatchlist``.
///
/// All sources have the same members: sequences for `async` code, and ``observe(named:_:)`` for callbacks. Sequences
/// and callbacks get every event, or only the events of one name, decoded or not.
///
/// ```swift
/// for await event in channel.events(named: "created") { print(event.data ?? "") }
/// for await order in channel.values(named: "created", as: Order.self) { show(order) }
/// observation = channel.observe(named: "created") { event in print(event.data ?? "") }
/// ```
///
/// A sequence or an observation gets every event from the moment when you make it. Events of a new subscription wait for
/// their first listener, for a limited time:
/// ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``. Make listeners of ``Pusher``
/// before you connect.
///
/// | | not decoded | decoded, with the sender | decoded values |
/// |---|---|---|---|
/// | sequence, every event | ``events`` | | |
/// | sequence, one name | ``events(named:)`` | ``events(named:as:decoder:)`` | ``values(named:as:decoder:)`` |
/// | callback, every event | ``observe(named:_:)`` without a name | | |
/// | callback, one name | ``observe(named:_:)`` | ``observe(named:as:decoder:_:)`` | |
/// | callback on the main actor | ``observe(named:on:_:)`` | ``observe(named:as:decoder:on:_:)`` | |
///
/// Decoding requires a name, because events of different names have different data. The events of a watchlist are
/// already decoded, as ``WatchlistEvent`` values.
public protocol PusherEventSource<Event>: Sendable {
    /// The type of the events: ``PusherEvent``, or ``WatchlistEvent`` for a watchlist.
    associatedtype Event: Sendable

    /// The basis of the other members. Do not use it in your code.
    var _listeners: _PusherListeners<Event> { get }
}

/// The listeners of a ``PusherEventSource``.
public struct _PusherListeners<Event: Sendable>: Sendable {
    let engine: ClientEngine
    /// Makes a sequence of the events of one name, or of all events if the name is nil.
    let makeSequence: @Sendable (_ name: String?) -> EventSequence<Event>
    /// Binds a callback to a queue, for the events of one name or for all events. Returns an observation that unbinds
    /// the callback.
    let bind:
        @Sendable (_ name: String?, _ queue: CallbackDispatcher, _ callback: @escaping @Sendable (Event) -> Void)
            -> EventObservation
}

// MARK: Sequences

extension PusherEventSource {
    /// A sequence of every event from now on.
    ///
    /// The events of a channel include the events that the client makes itself: `pusher:subscription_succeeded`,
    /// `pusher:subscription_error`, `pusher:subscription_count`, `pusher:member_added` and `pusher:member_removed`. The
    /// sequence ends when the channel is unsubscribed or the client is released.
    public var events: EventSequence<Event> { _listeners.makeSequence(nil) }

    /// Returns a sequence of every event of that name from now on, as in ``events``.
    public func events(named eventName: String) -> EventSequence<Event> { _listeners.makeSequence(eventName) }
}

extension PusherEventSource where Event == PusherEvent {
    /// Returns a sequence of every event of that name from now on, with its decoded data and its sender.
    ///
    /// ```swift
    /// for await message in room.events(named: "client-message", as: Message.self) {
    ///     show(message.value, from: message.userId)
    /// }
    /// ```
    ///
    /// The client skips events whose data it cannot decode. ``Pusher/errors`` reports them with the code
    /// ``PusherClientError/Code/undecodableData``. To handle such events yourself, iterate ``events(named:)`` and call
    /// ``PusherEvent/decode(as:decoder:)``.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - type: The type of the decoded data. The sequence decodes the data on the actor that iterates. If the type's
    ///     conformance to `Decodable` is isolated to the main actor, only code on the main actor can iterate the
    ///     sequence.
    ///   - decoder: The decoder for the data. Default: the client's own decoder, which is several times as fast as a
    ///     `JSONDecoder`, with ``PusherClientOptions/decoding``. A decoder that you pass gets no number that it might
    ///     trap for: see ``PusherEvent/decode(as:decoder:)``.
    public func events<Value: Decodable>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder? = nil
    ) -> DecodedEventSequence<Value> {
        DecodedEventSequence(base: events(named: eventName), decoder: decoder, engine: _listeners.engine)
    }

    /// Returns a sequence of the decoded data of every event of that name from now on. The sequence is
    /// ``events(named:as:decoder:)`` without the senders.
    ///
    /// ```swift
    /// for await order in channel.values(named: "created", as: Order.self) { show(order) }
    /// ```
    public func values<Value: Decodable>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder? = nil
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
    ///   - callback: A closure that the client calls on the callback queue (``PusherClientOptions/callbackQueue``).
    /// - Returns: The observation that keeps the callback bound. Store it in the object that the callback belongs to.
    public func observe(
        named eventName: String? = nil,
        _ callback: @escaping @Sendable (Event) -> Void
    ) -> EventObservation {
        _listeners.bind(eventName, _listeners.engine.dispatcher, callback)
    }

    /// Calls back as ``observe(named:_:)`` does, but on the main actor instead of the callback queue.
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
    ///   - callback: A closure that the client calls on the main actor, in the order of the events.
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
    /// The client skips events whose data it cannot decode. ``Pusher/errors`` reports them with the code
    /// ``PusherClientError/Code/undecodableData``.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - type: The type of the decoded data. The client decodes the data on the callback queue.
    ///   - decoder: The decoder for the data. Default: the client's own decoder, which is several times as fast as a
    ///     `JSONDecoder`, with ``PusherClientOptions/decoding``. A decoder that you pass gets no number that it might
    ///     trap for: see ``PusherEvent/decode(as:decoder:)``.
    ///   - callback: A closure that the client calls on the callback queue (``PusherClientOptions/callbackQueue``).
    /// - Returns: The observation that keeps the callback bound. Store it in the object that the callback belongs to.
    public func observe<Value: Decodable & SendableMetatype>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder? = nil,
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
    /// The type's conformance to `Decodable` may be isolated to the main actor. In modules whose default isolation is
    /// the main actor, such a conformance is the default.
    @MainActor
    public func observe<Value: Decodable>(
        named eventName: String,
        as type: Value.Type,
        decoder: JSONDecoder? = nil,
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

/// An object that keeps a callback bound until the object is released. Store the observation in the object that the
/// callback belongs to. When a channel is unsubscribed, the client also unbinds the channel's callbacks.
///
/// ``PusherEventSource/observe(named:_:)`` and its variants return observations.
public final class EventObservation: Sendable {
    private let unbind: @Sendable () -> Void

    init(_ unbind: @escaping @Sendable () -> Void) { self.unbind = unbind }

    deinit { unbind() }

    /// Unbinds the callback. After this method has returned on the queue that runs the callback, the client does not
    /// call the callback again. A second call of this method does nothing.
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
            makeSequence: { [engine] name in
                engine.watchlistEvents.makeSequence { name == nil || $0.name == name }.needingConnection(of: engine)
            },
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
            makeSequence: { [self] name in makeSequence(name, for: engine).needingConnection(of: engine) },
            bind: { [self] name, queue, callback in
                let id = engine.bind(name, to: self, by: queue, callback)
                // The observation does not retain the registry, because an observation may outlive its channel.
                return EventObservation { [weak self] in self?.unbind(name, id: id) }
            }
        )
    }
}
