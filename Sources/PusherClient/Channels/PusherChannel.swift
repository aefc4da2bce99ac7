import NIOConcurrencyHelpers
import PusherProtocol

/// A channel that the application subscribed to: its events, and how its subscription stands.
///
/// Its events come as sequences and to callbacks: see ``PusherEventSource``.
///
/// Made by ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``. It may be used from
/// any thread. Holding it does not keep the connection open: ``Pusher`` alone does. After it is unsubscribed nothing is
/// delivered to it any more; subscribing to the same name again makes a new one.
///
/// It is not made for subclassing: ``PusherPresenceChannel`` and ``GlobalChannel`` are the only subclasses.
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
    /// Why the channel was never one of a subscription; nil where it was.
    let fault: SubscriptionError?
    private let observers: NIOLockedValueBox<Observers>

    /// Who wants to know of what seldom happens. Few channels have one, so the broadcasts are made when they are asked
    /// for.
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

    /// The connection of the client that made the channel; it is not kept alive.
    public var connection: PusherConnection? { engine.read { $0.connection.value } }

    /// What the name's prefix says about the channel.
    public var type: PusherChannelType { PusherChannelType(name: name) }

    /// Whether the channel is encrypted: its name begins with `private-encrypted-`.
    public var isEncrypted: Bool { PusherChannelType.isEncryptedChannel(name: name) }

    /// Whether the server keeps the channel's last event for new subscribers: `cache-` follows the rest of the prefix.
    public var isCache: Bool { PusherChannelType.isCacheChannel(name: name) }

    /// Whether the server has confirmed the subscription, on the connection that stands.
    public var isSubscribed: Bool { subscription?.isSubscribed ?? false }

    /// The same as ``isSubscribed``, which new code uses.
    public var subscribed: Bool { isSubscribed }

    /// How many connections are subscribed to the channel, as the server last said; nil while it has said nothing. The
    /// application must have the feature switched on.
    public var subscriptionCount: Int? { subscription?.subscriptionCount }

    /// Called on the callback queue with each new ``subscriptionCount``. A PusherSwift member: new code observes the event
    /// `pusher:subscription_count`.
    @preconcurrency public var onSubscriptionCountChanged: (@Sendable (Int) -> Void)? {
        get { observers.withLockedValue { $0.onSubscriptionCountChanged } }
        set { replace(\.onSubscriptionCountChanged, with: newValue) }
    }

    /// The authorization that the next subscription uses in place of ``PusherClientOptions/authMethod``, once: a
    /// signature holds for one socket id. One that is set while there is a connection is for that connection, and is
    /// given up with it. Nil where there is none, or it was used.
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

    /// Ends the calls of one callback. Called on the queue that runs it, no call begins after it has returned.
    public func unbind(eventName: String, callbackId: String) { listeners.unbind(eventName, id: callbackId) }

    /// Ends the calls of all callbacks. Sequences go on.
    public func unbindAll() { listeners.unbindAll() }

    /// Ends the calls of all callbacks that are bound to that name.
    public func unbindAll(forEventName eventName: String) { listeners.unbindAll(eventName) }

    // MARK: Subscribing again

    /// Begins the subscription anew: after a failure that is mended, for example by a fresh token, or to have the
    /// members of a presence channel, or the cached event of a cache channel, once more. Returns at once;
    /// ``subscribed(timeout:)`` waits for the outcome.
    ///
    /// Bindings and sequences stay, and so do triggered client events that wait; a `send` that waits throws an error of
    /// code ``PusherClientError/Code/notSubscribed``. Where the subscription is under way already, or there is no
    /// connection, nothing more has to be done, and nothing is; nor on a channel that was unsubscribed.
    public func resubscribe() {
        engine.step { [name, id] state, now in state.machine.resubscribe(name, id, now: now, into: &state.pending) }
    }

    // MARK: Inside

    /// Nil where the channel is unsubscribed.
    var subscription: SubscriptionStateMachine? {
        engine.read { $0.machine.subscriptions[name] }.flatMap { $0.id == id && $0.isWanted ? $0 : nil }
    }

    /// Takes the object out of use: nothing is delivered any more, and what callbacks own is released.
    func retire() {
        listeners.finish()
        finishListeners()
    }

    // MARK: Observers

    func finishListeners() {
        // What closures own is released outside the lock: it may call back.
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
        // What is let go is released outside the lock: what it owns may call back. That is the new closure where the
        // channel is out of use: it would never be called, and nobody would let go of it any more.
        _ = observers.withLockedValue { observers in
            guard !observers.isFinished else { return value }
            defer { observers[keyPath: path] = value }
            return observers[keyPath: path]
        }
    }
}

extension PusherChannel: Hashable {
    /// Channels are equal where they are the same object.
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

    /// Whether the name is that of a presence channel.
    public static func isPresenceChannel(name: String) -> Bool { PusherChannelType(name: name) == .presence }

    /// Whether the name is that of an encrypted channel: `private-encrypted-…`. Its type is ``private``.
    public static func isEncryptedChannel(name: String) -> Bool {
        ChannelKind(ofChannelNamed: name).base == .privateEncrypted
    }

    /// Whether the name is that of a cache channel, of whatever type: `cache-…`, `private-cache-…` and so on.
    public static func isCacheChannel(name: String) -> Bool { ChannelKind(ofChannelNamed: name).isCache }
}
