/// A client's state machine, without a clock, a timer or a socket. Its inputs are methods that return the actions to carry
/// out. The client's shell runs it on one event loop.
package protocol LoopMachine: Sendable {
    associatedtype Action: Sendable

    /// The time at which the machine needs to be woken, by its clock; `nil` if it waits for no time. The clock continues
    /// while the computer is suspended.
    var wakeUp: Duration? { get }
}

/// The detection of times in which the computer was suspended.
package enum Suspension {
    /// The longest time until a waiting client looks at the clock again.
    package static var checkInterval: Duration { .seconds(5) }
}
