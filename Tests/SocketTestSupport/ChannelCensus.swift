import NIOConcurrencyHelpers
package import NIOCore

/// The channels of a dialer.
package final class ChannelCensus: Sendable {
    private let counts = NIOLockedValueBox((opened: 0, open: 0))

    package init() {}

    /// The number of channels that the dialer has made.
    package var opened: Int { counts.withLockedValue { $0.opened } }
    /// The number of channels that are not closed.
    package var open: Int { counts.withLockedValue { $0.open } }

    package func add(_ channel: any Channel) {
        counts.withLockedValue {
            $0.opened += 1
            $0.open += 1
        }
        channel.closeFuture.whenComplete { [counts] _ in counts.withLockedValue { $0.open -= 1 } }
    }
}
