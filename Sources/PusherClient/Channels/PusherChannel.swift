import NIOConcurrencyHelpers
import PusherProtocol

/// A channel that the app subscribed to: its events, and the state of its subscription.
///
/// Sequences and callbacks get the events: see ``PusherEventSource``.
///
/// ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` makes channels. You can use a
/// channel from any thread. A reference to a channel does not keep the connection open, but a reference to ``Pusher``
/// does. After the app unsubscribes, the channel gets no more events. A new subscription to the channel creates a new
/// object.
///
/// You cannot subclass this class: ``PusherPresenceChannel`` and ``GlobalChannel`` are the only subclasses.
public class PusherChannel: @unchecked Sendable {
    // The conformance is `@unchecked`, because the compiler checks only final classes, and PusherSwift's presence
    // channel is a subclass. Proof: every stored property is a `let` whose type the compiler checks. The types are a
    // string, a struct of an integer, an optional Sendable struct, and final Sendable classes. These final classes are
    // the engine, the listener registry, and a locked box of a Sendable struct. The class is not open, so no other
    // module can subclass it. The subclasses are final, and each subclass has a proof.
    /// The channel's name.
    public let name: String
    let id: ChannelID
    let engine: ClientEngine
    let listeners: ListenerRegistry
    /// The error, if the client did not keep the channel object; otherwise nil. Either there were too many channels, or
    /// the name of a presence channel has the wrong prefix.
    let fault: SubscriptionError?
    private let observers: NIOLockedValueBox<Observers>

    /// The listeners of rare changes. Few channels have such listeners, so the channel creates the broadcast on first
    /// use.
    struct Observers: Sendable {
        var onSubscriptionCountChanged: (@Sendable (Int) -> Void)?
        var resubscriptions: Broadcast<Duration>?
        var isFinished = false
    }

    init(
        name: String,
        id: ChannelID,
        engine: ClientEngine,
        listeners: ListenerRegistry? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil,
        fault: SubscriptionError? = nil
    ) {
        self.name = name
        self.id = id
        self.engine = engine
        self.listeners = listeners ?? ListenerRegistry(engine.listenerContext, holdsEvents: true)
        self.fault = fault
        observers = NIOLockedValueBox(Observers(onSubscriptionCountChanged: onSubscriptionCountChanged))
    }

    /// The connection of the client that created the channel. The channel does not retain the connection.
    public var connection: PusherConnection? { engine.read { $0.connection.value } }

    /// The kind of channel. The prefix of the name determines the kind.
    public var type: PusherChannelType { PusherChannelType(name: name) }

    /// Whether the channel is encrypted. The name of an encrypted channel begins with `private-encrypted-`.
    public var isEncrypted: Bool { PusherChannelType.isEncryptedChannel(name: name) }

    /// Whether the channel is a cache channel. The server keeps the last event of a cache channel for new subscribers.
    /// In the name of such a channel, `cache-` follows the prefix, or begins the name.
    public var isCache: Bool { PusherChannelType.isCacheChannel(name: name) }

    /// Whether the server has confirmed the subscription on the current connection.
    public var isSubscribed: Bool { subscription?.isSubscribed ?? false }

    /// The state of the subscription. If the status is ``SubscriptionStatus/retrying(_:)``, the client is connected, but
    /// gets no events of the channel yet, and tries again until it does.
    public var subscriptionStatus: SubscriptionStatus { engine.read { $0.machine.subscriptionStatus(of: name, id) } }

    /// Whether the channel is subscribed. New code uses ``isSubscribed``.
    public var subscribed: Bool { isSubscribed }

    /// The number of connections that are subscribed to the channel, as last reported by the server. Nil before the
    /// first report. This feature must be enabled for the app.
    public var subscriptionCount: Int? { subscription?.subscriptionCount }

    /// A closure that the client calls on the callback queue with each new ``subscriptionCount``. This is a PusherSwift
    /// member. New code observes the event `pusher:subscription_count`.
    @preconcurrency public var onSubscriptionCountChanged: (@Sendable (Int) -> Void)? {
        get { observers.withLockedValue { $0.onSubscriptionCountChanged } }
        set { replace(\.onSubscriptionCountChanged, with: newValue) }
    }

    /// The authorization that the next subscription uses instead of ``PusherClientOptions/authMethod``. The client uses
    /// it only once, because a signature is valid for one socket id. An authorization that you set belongs to the
    /// current connection, or to the last connection if there is no current one. If the client has not connected yet,
    /// the authorization belongs to the first connection. The client does not use it on another connection. Nil if
    /// there is no authorization, or the client has used it.
    public var auth: PusherAuth? {
        get {
            guard let own = subscription?.ownAuthorization?.authorization else { return nil }
            return PusherAuth(auth: own.auth, channelData: own.data, sharedSecret: own.sharedSecret)
        }
        set {
            let authorization = newValue.map { Authorization($0) }
            engine.update { $0.machine.setAuthorization(authorization, of: name, id) }
        }
    }

    // MARK: Binding

    /// Calls back on the callback queue for each event of that name on this channel. This is a PusherSwift member. New
    /// code uses ``PusherEventSource/observe(named:_:)``.
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(eventName, to: listeners, eventCallback)
    }

    /// Unbinds one callback. After this method has returned on the queue that runs the callback, the client does not
    /// call the callback again.
    public func unbind(eventName: String, callbackId: String) { listeners.unbind(eventName, id: callbackId) }

    /// Unbinds all callbacks. Sequences continue.
    public func unbindAll() { listeners.unbindAll() }

    /// Unbinds all callbacks for events of that name.
    public func unbindAll(forEventName eventName: String) { listeners.unbindAll(eventName) }

    // MARK: Subscribing again

    /// Subscribes again. Use this method after you fix the cause of a failure, for example with a fresh token. The
    /// server then sends the members of a presence channel, or the cached event of a cache channel, again. The method
    /// returns at once; ``subscribed(timeout:)`` waits for the outcome.
    ///
    /// The channel keeps its bindings and sequences, and triggered client events that wait. A waiting `send` throws an
    /// error with the code ``PusherClientError/Code/notSubscribed``. If the client waits before another try, it tries at once.
    /// Does nothing if the subscription is under way, if there is no connection, if the channel was unsubscribed, or if its name is invalid.
    public func resubscribe() {
        if subscription != nil { holdEvents() }
        engine.step { [name, id] state, now in state.machine.resubscribe(name, id, now: now, into: &state.pending) }
    }

    // MARK: Inside

    /// The state of the subscription; nil if the channel is unsubscribed.
    var subscription: SubscriptionStateMachine? {
        engine.read { $0.machine.subscriptions[name] }.flatMap { $0.id == id && $0.isWanted ? $0 : nil }
    }

    /// Retires the object. It delivers no more events, and releases its callbacks.
    func retire() {
        engine.dropped(listeners.finish())
        finishListeners()
    }

    /// Holds events that have no listener yet: see ``ClientEngine/holdingTime``.
    func holdEvents() { listeners.holdEvents() }

    /// Drops the held events if their time is over. See ``ListenerRegistry/endHolding(at:)``.
    func endHolding(at now: Instant) -> [PusherEvent]? { listeners.endHolding(at: now) }

    /// Drops the held events, and holds later events. See ``ListenerRegistry/restartHolding()``.
    func restartHolding() -> [PusherEvent]? { listeners.restartHolding() }

    // MARK: Observers

    func finishListeners() {
        // Release closures outside the lock, because releasing them may call the client.
        let finished = observers.withLockedValue { observers in
            defer { observers = Observers(isFinished: true) }
            return observers
        }
        finished.resubscriptions?.finish()
    }

    func makeSequence<Element>(
        of path: WritableKeyPath<Observers, Broadcast<Element>?>
    ) -> EventSequence<Element> {
        let broadcast = observers.withLockedValue { observers in
            if let broadcast = observers[keyPath: path] { return broadcast }
            let broadcast = Broadcast<Element> { [budget = engine.sequenceBudget, work = engine.work] in
                EventBuffer(budget, of: work)
            }
            if observers.isFinished { broadcast.finish() } else { observers[keyPath: path] = broadcast }
            return broadcast
        }
        return broadcast.makeSequence().needingConnection(of: engine)
    }

    func broadcast<Element>(_ element: Element, to find: (Observers) -> Broadcast<Element>?) {
        if let broadcast = observers.withLockedValue({ find($0) }) {
            engine.broadcast(element, to: broadcast, channel: name)
        }
    }

    private func replace<Value>(_ path: WritableKeyPath<Observers, Value>, with value: Value) {
        // Release the replaced closure outside the lock, because releasing it may call the client. If the channel is
        // retired, release the new closure instead, because nothing would ever call it.
        _ = observers.withLockedValue { observers in
            guard !observers.isFinished else { return value }
            defer { observers[keyPath: path] = value }
            return observers[keyPath: path]
        }
    }
}

extension PusherChannel: Hashable {
    /// Returns whether both values are the same channel object.
    public static func == (left: PusherChannel, right: PusherChannel) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The type of a channel, in PusherSwift's terms. The type has only PusherSwift's three cases, because PusherSwift code
/// switches over them. ``PusherChannel/isEncrypted`` and ``PusherChannel/isCache`` give more details.
public enum PusherChannelType: Hashable, Sendable {
    /// `private-…`, including encrypted channels.
    case `private`
    /// `presence-…`
    case presence
    /// Any other name: a public channel.
    case normal

    /// Reads the type from a channel's name.
    public init(name: String) {
        switch ChannelKind(ofChannelNamed: name).base {
        case .public: self = .normal
        case .private, .privateEncrypted: self = .private
        case .presence: self = .presence
        }
    }

    /// Reads the type from a channel's name.
    public static func type(forName name: String) -> PusherChannelType { PusherChannelType(name: name) }

    /// Returns whether a channel with this name is a presence channel.
    public static func isPresenceChannel(name: String) -> Bool { PusherChannelType(name: name) == .presence }

    /// Returns whether a channel with this name is encrypted: `private-encrypted-…`. The type of such a channel is
    /// ``private``.
    public static func isEncryptedChannel(name: String) -> Bool {
        ChannelKind(ofChannelNamed: name).base == .privateEncrypted
    }

    /// Returns whether a channel with this name is a cache channel of any type: `cache-…`, `private-cache-…` and so on.
    public static func isCacheChannel(name: String) -> Bool { ChannelKind(ofChannelNamed: name).isCache }
}
