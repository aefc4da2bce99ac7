import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
package import NIOSSL

extension TLSOptions {
    /// Throws an error of code ``PusherClientError/Code/invalidOption`` where the PEM text holds no certificates.
    package func validate() throws(PusherClientError) {
        _ = try makeConfiguration()
    }

    /// What these options are for NIO. Reads no files.
    package func makeConfiguration() throws(PusherClientError) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification =
            switch certificateVerification {
            case .full: .fullVerification
            case .noHostnameVerification: .noHostnameVerification
            case .insecurelyTrustAnyCertificate: .none
            }
        switch trustRoots {
        case .system: configuration.trustRoots = .default
        case .systemAnd(let pem):
            configuration.trustRoots = .default
            configuration.additionalTrustRoots = [.certificates(try Self.certificates(pem))]
        case .only(let pem):
            configuration.trustRoots = .certificates(try Self.certificates(pem))
        }
        return configuration
    }

    private static func certificates(_ pem: String) throws(PusherClientError) -> [NIOSSLCertificate] {
        let certificates: [NIOSSLCertificate]
        do {
            certificates = try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8))
        } catch {
            throw PusherClientError(.invalidOption, "the trust roots are no certificates in PEM form", cause: error)
        }
        guard !certificates.isEmpty else {
            throw PusherClientError(.invalidOption, "the PEM text of the trust roots has no certificate")
        }
        return certificates
    }
}

/// Makes the TLS context at the first use, and keeps it.
package final class TLSContextSource: Sendable {
    private let options: TLSOptions
    private let context = NIOLockedValueBox<NIOSSLContext?>(nil)

    package init(_ options: TLSOptions) { self.options = options }

    /// Not made on the event loop: reading the system's trust roots takes milliseconds.
    package func context(on eventLoop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        if let context = context.withLockedValue({ $0 }) { return eventLoop.makeSucceededFuture(context) }
        return NIOSingletons.posixBlockingThreadPool.runIfActive(eventLoop: eventLoop) {
            let made = try NIOSSLContext(configuration: try self.options.makeConfiguration())
            return self.context.withLockedValue { context in
                let kept = context ?? made
                context = kept
                return kept
            }
        }
    }
}
