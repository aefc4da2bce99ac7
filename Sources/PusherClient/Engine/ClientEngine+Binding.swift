import Foundation

/// Binding callbacks, as many as the options allow.
extension ClientEngine {
    /// - Parameters:
    ///   - name: The event's name; nil for every event.
    ///   - listeners: Those of a channel, of the client or of the user.
    ///   - dispatcher: What runs the callback; nil for where the options say.
    /// - Returns: The callback's id; that of none where there are too many, which is reported.
    func bind(
        _ name: String?,
        to listeners: ListenerRegistry,
        by dispatcher: CallbackDispatcher? = nil,
        _ callback: @escaping @Sendable (PusherEvent) -> Void
    ) -> String {
        listeners.bind(name, by: dispatcher ?? self.dispatcher, callback)
            ?? refuseBinding(name.map { "the event \($0.quoted)" } ?? "every event")
    }

    /// - Returns: The id of no callback.
    func refuseBinding(_ what: String) -> String {
        let error = PusherClientError(
            .tooManyBindings,
            """
            a callback was not bound to \(what): \(limits.bindings) are bound to the same object already, and \
            limits.bindings allows no more. Whoever binds again and again has to unbind, or to use observe(…)
            """
        )
        step { state, _ in state.pending.append(.report(error)) }
        return UUID().uuidString
    }
}
