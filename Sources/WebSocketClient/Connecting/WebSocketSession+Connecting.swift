import NIOCore
import RealtimeNetworking

extension WebSocketSession {
    func start() {
        guard case .connecting = stage else { return }
        do throws(WebSocketError) {
            upgrade = try makeUpgrade()
        } catch {
            return end(WebSocketClosure(code: nil, error: error))
        }
        do throws(NetworkError) {
            let dial = try Dial(request.target, connector.dialer, on: eventLoop) { result in
                self.dial = nil
                switch result {
                case .success(let channel): self.connected(channel)
                case .failure(let failure):
                    self.end(WebSocketClosure(code: nil, error: WebSocketError(failure.error)))
                }
            }
            self.dial = dial
            dial.start()
        } catch {
            end(WebSocketClosure(code: nil, error: WebSocketError(error)))
        }
    }

    /// Begins the session with a connected channel.
    func start(over channel: any Channel) {
        guard case .connecting = stage else { return channel.close(promise: nil) }
        do {
            upgrade = try makeUpgrade()
            connected(channel)
        } catch {
            channel.close(promise: nil)
            end(WebSocketClosure(code: nil, error: error))
        }
    }

    private func makeUpgrade() throws(WebSocketError) -> UpgradeResponseReader {
        let message = try UpgradeRequest(request, extensions: options.extensionOffer())
        #if Compression
            return UpgradeResponseReader(message, compression: options.compression)
        #else
            return UpgradeResponseReader(message)
        #endif
    }

    /// Adds the session to the channel, and sends the upgrade request.
    private func connected(_ channel: any Channel) {
        stage = .upgrading
        do {
            try channel.pipeline.syncOperations.addHandler(self)
        } catch {
            channel.close(promise: nil)
            return end(WebSocketClosure(code: nil, error: ConnectionFailure.upgrading(request, error)))
        }
        guard let context, let upgrade else { return }
        context.writeAndFlush(
            wrapOutboundOut(channel.allocator.buffer(string: upgrade.requestText)),
            promise: nil
        )
    }
}

extension WebSocketRequest {
    var target: Dialer.Target { Dialer.Target(host: host, port: port, useTLS: useTLS) }
}
