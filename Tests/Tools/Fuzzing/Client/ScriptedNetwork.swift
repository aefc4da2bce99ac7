import NIOCore
import NIOEmbedded
import PusherClient
import TestSupport
import WebSocketClient

/// The network of the client and its scripted servers. All work runs on one thread.
final class ScriptedNetwork {
    static let options = with(WebSocketOptions()) {
        $0.maximumMessageSize = 4_096; $0.sendBufferSize = 65_536
    }

    let loop = EmbeddedEventLoop()
    private(set) var servers: [ScriptedServer] = []
    private var count = 0
    /// The number of connections that the network still refuses.
    var refusals = 0

    func open(
        _ request: TransportRequest,
        _ receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        let channel = EmbeddedChannel(loop: loop)
        if refusals > 0 {
            refusals -= 1
        } else {
            if let address = try? SocketAddress(ipAddress: "127.0.0.1", port: 80) {
                channel.connect(to: address, promise: nil)
            }
            require(channel.isActive, "the channel is not connected")
            count += 1
            servers.append(ScriptedServer(number: count, channel: channel))
        }
        return WebSocketTransport(WebSocketConnector(Self.options)).open(request, over: channel, receive: receive)
    }

    /// The server's end of the client's open connection.
    var current: ScriptedServer? { servers.last { $0.isOpen } }

    func forgetClosed() { servers.removeAll { !$0.isOpen } }
}

/// The network as the client sees it.
struct ScriptedTransport: Transport {
    let network: NIOLoopBound<ScriptedNetwork>

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        network.value.open(request, receive)
    }
}
