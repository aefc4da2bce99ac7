import NIOConcurrencyHelpers
import PusherProtocol

/// A channel that the app subscribed to: its events, and the state of its subscription.
///
/// Its events come as sequences and to callbacks: see ``PusherEventSource``.
///
/// Made by ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``. It may be used from
/// any thread. Holding it does not keep the connection open; only ``Pusher`` does. After it is unsubscribed, it gets no
/// more events. Subscribing to the same name again creates a new object.
///
/// You cannot subclass it: ``PusherPresenceChannel`` and ``GlobalChannel`` are the only subclasses.
public class PusherChannel: @unchecked Sendable {
    // `@unchecked`, because the compiler checks final classes only, and PusherSwift's presence channel is a subclass.
    // Proof: every stored property is a `let`, of a type that is checked: a string, a struct of an integer, an optional
    // struct that is Sendable, and final classes that are Sendable by themselves (the engine, the registries, and a
    // locked box of a Sendable struct). The class is not open, so no other module can subclass it; its subclasses are
    // final, and prove the same of themselves.
    /// The channel's name.
    public let name: String
    let id: ChannelID
    let engine: ClientEngine
    let listeners: ListenerRegistry
    /// Why the channel was rejected before it started; nil if it was not.
    let fault: SubscriptionError?
    private let observers: NIOLockedValueBox<Observers>

    /// The listeners of rare changes. Few channels have them, so the broadcasts are created on first use.
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
        self.listeners = listeners ?? engine.makeListenerRegistry()
        self.fault = fault
        observers = NIOLockedValueBox(Observers(onSubscriptionCountChanged: onSubscriptionCountChanged))
    }

    /// The connection of the client that created the channel; it is not retained.
    public var connection: PusherConnection? { engine.read { $0.connection.value } }

    /// The kind of channel that the name's prefix stands for.
    public var type: PusherChannelType { PusherChannelType(name: name) }

    /// Whether the channel is encrypted: its name begins with `private-encrypted-`.
    public var isEncrypted: Bool { PusherChannelType.isEncryptedChannel(name: name) }

    /// Whether the server keeps the channel's last event for new subscribers: `cache-` follows the rest of the prefix.
    public var isCache: Bool { PusherChannelType.isCacheChannel(name: name) }

    /// Whether the server has confirmed the subscription on the current connection.
    public var isSubscribed: Bool { subscription?.isSubscribed ?? false }

    /// The same as ``isSubscribed``, which new code uses.
    public var subscribed: Bool { isSubscribed }

    /// How many connections are subscribed to the channel, as the server reported last; nil before the first report.
    /// The feature must be enabled for the app.
    public var subscriptionCount: Int? { subscription?.subscriptionCount }

    /// Called on the callback queue with each new ``subscriptionCount``. A PusherSwift member: new code observes the event
    /// `pusher:subscription_count`.
    @preconcurrency public var onSubscriptionCountChanged: (@Sendable (Int) -> Void)? {
        get { observers.withLockedValue { $0.onSubscriptionCountChanged } }
        set { replace(\.onSubscriptionCountChanged, with: newValue) }
    }

    /// The authorization that the next subscription uses in place of ``PusherClientOptions/authMethod``. It is used
    /// once, because a signature is valid for one socket id. If you set it while there is a connection, it is for that
    /// connection, and is dropped with it. Nil if there is none, or it was used.
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

    /// Calls back for each event of that name on this channel, on the callback queue. A PusherSwift member: new code uses
    /// ``PusherEventSource/observe(named:_:)``.
    ///
    /// - Returns: An id for ``unbind(eventName:callbackId:)``.
    @preconcurrency @discardableResult
    public func bind(eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> String {
        engine.bind(eventName, to: listeners, eventCallback)
    }

    /// Ends the calls of one callback. After this method has returned on the queue that runs the callback, the callback
    /// is not called again.
    public func unbind(eventName: String, callbackId: String) { listeners.unbind(eventName, id: callbackId) }

    /// Ends the calls of all callbacks. Sequences go on.
    public func unbindAll() { listeners.unbindAll() }

    /// Ends the calls of all callbacks that are bound to that name.
    public func unbindAll(forEventName eventName: String) { listeners.unbindAll(eventName) }

    // MARK: Subscribing again

    /// Subscribes again. Use it after you fixed the cause of a failure, for example with a fresh token, or to get the
    /// members of a presence channel or the cached event of a cache channel once more. Returns at once;
    /// ``subscribed(timeout:)`` waits for the outcome.
    ///
    /// Bindings, sequences and waiting triggered client events stay. A waiting `send` throws an error with the code
    /// ``PusherClientError/Code/notSubscribed``. Does nothing if the subscription is under way, if there is no
    /// connection, or if the channel was unsubscribed.
    public func resubscribe() {
        engine.step { [name, id] state, now in state.machine.resubscribe(name, id, now: now, into: &state.pending) }
    }

    // MARK: Inside

    /// Nil if the channel is unsubscribed.
    var subscription: SubscriptionStateMachine? {
        engine.read { $0.machine.subscriptions[name] }.flatMap { $0.id == id && $0.isWanted ? $0 : nil }
    }

    /// Takes the object out of use: it delivers no more events, and releases what callbacks own.
    func retire() {
        listeners.finish()
        finishListeners()
    }

    // MARK: Observers

    func finishListeners() {
        // Closures are released outside the lock, because releasing them may call the client.
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
            let broadcast = Broadcast<Element> { [budget = engine.sequenceBudget] in EventBuffer(budget) }
            if observers.isFinished { broadcast.finish() } else { observers[keyPath: path] = broadcast }
            return broadcast
        }
        return broadcast.makeSequence()
    }

    func broadcast<Element>(_ element: Element, to path: KeyPath<Observers, Broadcast<Element>?>) {
        if let broadcast = observers.withLockedValue({ $0[keyPath: path] }) {
            engine.broadcast(element, to: broadcast, channel: name)
        }
    }

    private func replace<Value>(_ path: WritableKeyPath<Observers, Value>, with value: Value) {
        // The replaced closure is released outside the lock, because releasing it may call the client. If the channel
        // is out of use, the new closure is released instead, because it would never be called.
        _ = observers.withLockedValue { observers in
            guard !observers.isFinished else { return value }
            defer { observers[keyPath: path] = value }
            return observers[keyPath: path]
        }
    }
}

extension PusherChannel: Hashable {
    /// Channels are equal if they are the same object.
    public static func == (left: PusherChannel, right: PusherChannel) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What a channel's name says about it, in PusherSwift's terms. It keeps PusherSwift's three cases, for code that switches
/// over them: ``PusherChannel/isEncrypted`` and ``PusherChannel/isCache`` say more.
public enum PusherChannelType: Hashable, Sendable {
    /// `private-…`, encrypted channels among them.
    case `private`
    /// `presence-…`
    case presence
    /// Anything else: a public channel.
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

    /// Whether the channel is a presence channel, by its name.
    public static func isPresenceChannel(name: String) -> Bool { PusherChannelType(name: name) == .presence }

    /// Whether the channel is an encrypted one, by its name: `private-encrypted-…`. Its type is ``private``.
    public static func isEncryptedChannel(name: String) -> Bool {
        ChannelKind(ofChannelNamed: name).base == .privateEncrypted
    }

    /// Whether the channel is a cache channel of any type, by its name: `cache-…`, `private-cache-…` and so on.
    public static func isCacheChannel(name: String) -> Bool { ChannelKind(ofChannelNamed: name).isCache }
}
