/// A callback that is bound to the name of an event. There is nothing to read of it: it can be counted.
public struct EventHandler: Sendable {
    let id: String
}
