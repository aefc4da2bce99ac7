package import AsyncHTTPClient
import NIOCore
import TestSupport

extension HTTPClient {
    /// A client with a long timeout for connections, for slow machines.
    package static let patient = HTTPClient(
        eventLoopGroupProvider: .singleton,
        configuration: Configuration(timeout: Configuration.Timeout(connect: TimeAmount(.patience)))
    )
}
