/// A callback that is bound to the name of an event. It has no members: you can only count it.
public struct EventHandler: Sendable {
    let id: String
}
