import Atomics
import NIOConcurrencyHelpers
import NIOCore

/// The values that all registries and audiences of a client share.
final class ListenerContext: Sendable {
    /// A count that rises when the listeners of an event may have changed.
    let changes: ChangeCount
    let epoch: ConnectionEpoch
    let callbackIDs: CallbackIDs
    /// The maximum number of callbacks in a registry.
    let maximumCallbacks: Int
    /// The limits of the buffer of a sequence.
    let sequenceBudget: BufferBudget
    let eventLoop: any EventLoop
    /// The dispatcher of the callback queue in the options.
    let dispatcher: CallbackDispatcher
    /// The dispatcher of the main queue, if the client already needed it.
    private let main = ManagedAtomicLazyReference<CallbackDispatcher>()

    private let releaser = NIOLockedValueBox<Releaser?>(nil)

    // A bare function in a generic box would get another wrapper at each read.
    private struct Releaser: Sendable {
        let release: @Sendable (ListenerRegistry) -> Void
    }

    init(
        _ changes: ChangeCount,
        _ epoch: ConnectionEpoch,
        _ callbackIDs: CallbackIDs,
        maximumCallbacks: Int,
        sequenceBudget: BufferBudget,
        eventLoop: any EventLoop,
        dispatcher: CallbackDispatcher
    ) {
        self.changes = changes
        self.epoch = epoch
        self.callbackIDs = callbackIDs
        self.maximumCallbacks = maximumCallbacks
        self.sequenceBudget = sequenceBudget
        self.eventLoop = eventLoop
        self.dispatcher = dispatcher
    }

    /// Returns the dispatcher of the main queue.
    ///
    /// - Parameter make: A closure that makes the dispatcher. If several threads make one, all get the first.
    func mainDispatcher(orMake make: () -> CallbackDispatcher) -> CallbackDispatcher {
        main.load() ?? main.storeIfNilThenLoad(make())
    }

    /// Sets the function that delivers the events that a registry holds. Any thread may call the function.
    func onRelease(_ release: @escaping @Sendable (ListenerRegistry) -> Void) {
        releaser.withLockedValue { $0 = Releaser(release: release) }
    }

    /// Makes the client deliver the events that the registry holds and that have a listener now.
    func release(_ registry: ListenerRegistry) { releaser.withLockedValue { $0 }?.release(registry) }

    /// Calls a function with each dispatcher: of the callback queue, and of the main queue if it is another.
    func forEachDispatcher(_ body: (CallbackDispatcher) -> Void) {
        body(dispatcher)
        if let main = main.load(), main !== dispatcher { body(main) }
    }
}
