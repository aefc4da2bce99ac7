package import NIOCore
import NIOSSL
package import RealtimeTestHTTP

extension Listener {
    /// - Parameter makePreparation: A closure that each start calls. If the closure throws, the start fails with the
    ///   same error.
    package convenience init(
        eventLoop: any EventLoop,
        host: String,
        port: Int,
        makePreparation: @escaping @Sendable () throws -> Preparation
    ) {
        self.init(
            eventLoop: eventLoop,
            host: host,
            port: port,
            bindFailure: { host, port, cause in
                PusherTestServer.ServerError(
                    .bindFailed,
                    "Server not started: it cannot listen on \(host), port \(port). Choose another port, or 0 for any.",
                    cause: cause
                )
            },
            makePreparation: makePreparation
        )
    }

    convenience init(
        _ service: HTTPService,
        _ options: PusherTestServer.Options,
        port: Int,
        tls: PusherTestServer.TLS?
    ) {
        self.init(eventLoop: service.eventLoop, host: options.host, port: port) {
            let context = try tls.map { try $0.serverContext() }
            return { channel in
                try HTTPRequestHandler.addHandlers(to: channel.pipeline.syncOperations, service: service, tls: context)
            }
        }
    }
}

extension PusherTestServer.TLS {
    fileprivate func serverContext() throws -> NIOSSLContext {
        do {
            return try HTTPTestCertificate(chain: certificateChain, privateKey: privateKey).context()
        } catch {
            throw PusherTestServer.ServerError(
                .invalidCertificate,
                """
                Server not started: the certificate chain or its private key cannot be used. Pass both in PEM form, and \
                the key of the first certificate.
                """,
                cause: error
            )
        }
    }
}
