import PusherTestServer
import PusherVirtualTime

enum PusherVirtualTimeSamples {
    static func make() async throws -> [any Sendable] {
        var options = PusherTestServer.Options()
        options.application.secret = "hush"
        return try await PusherTestServer.withVirtualTime(options: options) { time, _, _ in [time, time.clock] }
    }
}
