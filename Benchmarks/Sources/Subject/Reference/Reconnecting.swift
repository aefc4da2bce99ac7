import NIOCore
import NIOWebSocket
import Workload

/// A reference that subscribes to its channels, and does it again on a new socket when it loses the old one.
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
