import NIOCore
import NIOWebSocket
import Synchronization

/// A channel that is set after the handler was made.
final class LateChannel: Sendable {
    private let channel = Mutex<(any Channel)?>(nil)

    func set(_ channel: any Channel) { self.channel.withLock { $0 = channel } }

    func send(_ frame: WebSocketFrame) {
        channel.withLock { $0 }?.writeAndFlush(frame, promise: nil)
    }
}
