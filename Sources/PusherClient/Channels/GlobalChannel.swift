import Dispatch
import Foundation

/// The callbacks that are bound to the client, in the form of a channel: ``PusherConnection/globalChannel``.
///
/// The object gets every event, including events without a channel. Binding to ``Pusher`` has the same effect.
public final class GlobalChannel: PusherChannel, @unchecked Sendable {
    // A subclass must repeat the conformance. Proof: the subclass is final, and adds no stored property.
    init(engine: ClientEngine) {
        let id = engine.step { state, _ in state.machine.makeChannel() }
        super.init(name: "pusher_global_internal_channel", id: id, engine: engine, listeners: engine.clientListeners)
        // The global channel reports no resubscriptions and no subscription counts.
        finishListeners()
    }

    /// The callbacks that are bound to every event, by the id that `bind` returned. If you call a callback, it runs on
    /// the current thread. A callback for the main queue, which is the default, runs on that queue even if you call it
    /// on another thread.
    public var globalCallbacks: [String: (PusherEvent) -> Void] {
        // The code converts the functions one by one, because a cast of a whole array of Sendable functions can fail at
        // run time.
        var callbacks: [String: (PusherEvent) -> Void] = [:]
        for binding in listeners.bindingsToEveryEvent {
            let isOfMain = binding.dispatcher === engine.mainDispatcher
            callbacks[binding.id] = { event in
                guard isOfMain, !Thread.isMainThread else { return binding.call(event) }
                DispatchQueue.main.async { binding.call(event) }
            }
        }
        return callbacks
    }
}
