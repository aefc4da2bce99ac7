import NIOCore
import NIOWebSocket
import Workload

/// A reference that subscribes to its channels, and subscribes again on a new socket after a loss.
struct Reconnecting: Sendable {
    let target: Target
    let workload: Workload
    let eventLoop: any EventLoop
    let countdown: Countdown

    func open() {
        ReferenceConnection.connect(target, workload, on: eventLoop) {
            ReferenceHandler(workload, didAnswer: { countdown.hit() }, didClose: { open() })
        }.whenFailure { _ in open() }
    }
}
