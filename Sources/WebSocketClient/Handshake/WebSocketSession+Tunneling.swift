import NIOCore
import NIOHTTP1
import RealtimeNetworking

extension WebSocketSession {
    /// Asks a proxy to connect to the server (RFC 9110, section 9.3.6). Until the proxy has answered, this handler gets
    /// no data, only the event that the channel has closed.
    func tunnel(
        _ channel: any Channel,
        through proxy: ProxyServer,
        then proceed: @escaping () -> Void
    ) throws {
        let target = "\(HostName.withBrackets(request.hostWithoutBrackets)):\(request.port)"
        var headers = HTTPHeaders([("Host", target)])
        if let authorization = proxy.authorization { headers.add(name: "Proxy-Authorization", value: authorization) }
        let encoder = HTTPRequestEncoder()
        let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes))
        let connector = ProxyConnectHandler(
            HTTPRequestHead(version: .http1_1, method: .CONNECT, uri: target, headers: headers)
        ) { [weak self] connector, answer in
            guard let self, case .tunneling = self.stage else { return }
            switch answer {
            case .status(let status):
                self.proxyStatus = status
                if !(200..<300).contains(status.code) { self.tunnelingFailed(nil) }
            case .end:
                self.remove(encoder, decoder, connector, from: channel, then: proceed)
            }
        }
        // The connector comes last, because it sends its request as soon as it is added.
        try channel.pipeline.syncOperations.addHandlers([encoder, decoder, connector], position: .before(self))
    }

    private func remove(
        _ encoder: HTTPRequestEncoder,
        _ decoder: ByteToMessageHandler<HTTPResponseDecoder>,
        _ connector: ProxyConnectHandler,
        from channel: any Channel,
        then proceed: @escaping () -> Void
    ) {
        let operations = channel.pipeline.syncOperations
        EventLoopFuture.andAllSucceed(
            [
                operations.removeHandler(encoder), operations.removeHandler(decoder),
                operations.removeHandler(connector),
            ],
            on: eventLoop
        ).assumeIsolated().whenComplete { result in
            guard case .tunneling = self.stage else { return }
            switch result {
            case .success: proceed()
            case .failure(let error): self.tunnelingFailed(error)
            }
        }
    }

    func tunnelingFailed(_ error: (any Error)?) {
        guard let proxy else { return securingFailed(error) }
        end(
            WebSocketClosure(
                code: nil,
                error: ConnectionFailure.tunneling(to: request, through: proxy, status: proxyStatus, error)
            )
        )
    }
}

/// Sends the request for a tunnel, and reports the result. The package does not use the handler of NIOExtras, which
/// retains a timer and the credentials after each refusal by a proxy.
private final class ProxyConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    enum Answer {
        case status(HTTPResponseStatus)
        case end
    }

    private let request: HTTPRequestHead
    private let answered: (ProxyConnectHandler, Answer) -> Void

    init(_ request: HTTPRequestHead, answered: @escaping (ProxyConnectHandler, Answer) -> Void) {
        self.request = request
        self.answered = answered
    }

    func handlerAdded(context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(request)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): answered(self, .status(head.status))
        case .body: break
        case .end: answered(self, .end)
        }
    }
}
