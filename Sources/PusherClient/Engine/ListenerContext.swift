import Atomics
import NIOCore

/// The values that all registries and audiences of a client share.
final class ListenerContext: Sendable {
    /// A count that rises when the listeners of an event may have changed.
    let changes: ChangeCount
    let epochs: CallbackEpochs
    let callbackIDs: CallbackIDs
    /// The maximum number of callbacks in a registry.
    let maximumCallbacks: Int
    /// The limits of the buffer of a sequence.
    let sequenceBudget: BufferBudget
    let eventLoop: any EventLoop
    /// The dispatcher of the callback queue in the options.
    let dispatcher: CallbackDispatcher
    /// The app's work in virtual time; nil in real time.
    let work: AppWork?
    /// The dispatcher of the main queue, if the client already needed it.
    private let main = ManagedAtomicLazyReference<CallbackDispatcher>()

    init(
        _ changes: ChangeCount,
        _ epochs: CallbackEpochs,
        _ callbackIDs: CallbackIDs,
        maximumCallbacks: Int,
        sequenceBudget: BufferBudget,
        eventLoop: any EventLoop,
        dispatcher: CallbackDispatcher,
        work: AppWork?
    ) {
        self.changes = changes
        self.epochs = epochs
        self.callbackIDs = callbackIDs
        self.maximumCallbacks = maximumCallbacks
        self.sequenceBudget = sequenceBudget
        self.eventLoop = eventLoop
        self.dispatcher = dispatcher
        self.work = work
    }

    /// Returns the dispatcher of the main queue.
    ///
    /// - Parameter make: A closure that makes the dispatcher. If several threads make one, all get the first.
    func mainDispatcher(orMake make: () -> CallbackDispatcher) -> CallbackDispatcher {
        main.load() ?? main.storeIfNilThenLoad(make())
    }

    /// Calls a function with each dispatcher: of the callback queue, and of the main queue if it is another.
    func forEachDispatcher(_ body: (CallbackDispatcher) -> Void) {
        body(dispatcher)
        if let main = main.load(), main !== dispatcher { body(main) }
    }
}
