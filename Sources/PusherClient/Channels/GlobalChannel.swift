import Dispatch
import Foundation

/// What is bound to the client rather than to a channel, in the form of a channel: ``PusherConnection/globalChannel``.
///
/// It has every event of every channel, and those that belong to none. Binding to ``Pusher`` is the same.
public final class GlobalChannel: PusherChannel, @unchecked Sendable {
    // A subclass has to say the conformance again. Proof: it is final, and adds no stored property.
    init(engine: ClientEngine) {
        let id = engine.step { state, _ in state.machine.makeChannel() }
        super.init(name: "pusher_global_internal_channel", id: id, engine: engine, listeners: engine.clientListeners)
        // There will be no resubscription, no cache miss and no decryption failure.
        finishListeners()
    }

    /// The callbacks that are bound to every event, by the id that binding them gave. Each runs where it is called; those
    /// that belong to the main queue, as all do by default and those of `bindOnMain` always, run there, later where they
    /// are called from somewhere else.
    public var globalCallbacks: [String: (PusherEvent) -> Void] {
        // One by one: a whole array of functions that are Sendable is converted by casts at run time, which can fail.
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
