import NIOConcurrencyHelpers
import NIOCore

/// Runs closures on the event loop of a hub, and passes the brain to them.
struct HubEntrance: Sendable {
    let eventLoop: any EventLoop
    private let brain: NIOLockedValueBox<NIOLoopBound<HubBrain>?> = NIOLockedValueBox(nil)

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Makes the brain available. Call this method on the event loop.
    func open(_ brain: HubBrain) {
        let bound = NIOLoopBound(brain, eventLoop: eventLoop)
        self.brain.withLockedValue { $0 = bound }
    }

    /// Releases the brain, which refers to this entrance.
    func close() { brain.withLockedValue { $0 = nil } }

    /// Runs `body` on the event loop. Without a brain, `closed` runs instead.
    func enter(_ body: @escaping @Sendable (HubBrain) -> Void, closed: @escaping @Sendable () -> Void = {}) {
        eventLoop.execute { if let brain = brain.withLockedValue({ $0 }) { body(brain.value) } else { closed() } }
    }
}
