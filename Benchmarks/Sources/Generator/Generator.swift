import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Workload

/// A server that is never the bottleneck: it speaks only the part of the protocol that the clients need, and sends
/// prepared frames. The path of a connection describes the requested events.
///
/// The program prints its port without TLS and its port with TLS, and ends when its standard input ends. Without a
/// certificate, the second port is 0.
@main
enum Generator {
    static func main() throws {
        OpenFiles.raiseLimit()
        let arguments = CommandLine.arguments.dropFirst()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let plain = try listen(on: group, tls: nil)
        var tlsPort = 0
        if let certificate = arguments.first, let key = arguments.dropFirst().first {
            let configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
            )
            tlsPort = try listen(on: group, tls: NIOSSLContext(configuration: configuration)).localPort
        }
        print(plain.localPort, tlsPort)
        fflush(nil)
        while readLine() != nil {}
    }

    private static func listen(on group: MultiThreadedEventLoopGroup, tls: NIOSSLContext?) throws -> any Channel {
        let eventLoop = group.next()
        let sessions = NIOLoopBoundBox.makeBoxSendingValue(TransportSessions(), eventLoop: eventLoop)
        return try ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4_096)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 512 * 1_024, high: 1_024 * 1_024))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(FirstByteHandler(sessions.value))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .wait()
    }
}

extension Channel {
    fileprivate var localPort: Int { localAddress?.port ?? 0 }
}
