/// A callback that is bound to the name of an event. It has no members: it can only be counted.
public struct EventHandler: Sendable {
    let id: String
}
