/// A callback that is bound to the name of an event. The type has no members, so you can only count callbacks.
public struct EventHandler: Sendable {
    let id: String
}
