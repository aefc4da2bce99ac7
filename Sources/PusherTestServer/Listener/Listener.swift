import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

final class Listener: Sendable {
    init(options: PusherTestServer.Options, engine: ServerEngine) {}
    var port: Int { 0 }
    func start() async throws {}
    func shutdown() async {}
    func beginShutdown() {}
}
