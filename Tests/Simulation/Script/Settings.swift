package import PusherTestServer

/// What a simulated world is made with.
package struct Settings: Hashable, Sendable {
    /// For what chance decides while the world runs.
    package var seed: UInt64
    /// Which of ``dialects`` the server speaks.
    package var dialect = 0
    package var useTLS = false
    package var autoReconnect = true
    package var retryPolicy = Retry.default
    /// In seconds.
    package var activityTimeout: Double?
    /// In seconds; nil for a server that never asks.
    package var serverPingInterval: Int?
    package var authorization = Authorization.endpoint
    package var authorizationsAtOnce = 16
    package var heldEncryptedEvents = 1_000
    package var countsSubscriptions = false

    package enum Retry: Hashable, Sendable {
        /// Exponential with full jitter.
        case `default`
        /// Always so many milliseconds.
        case fixed(milliseconds: Int)
        /// Gives up after so many attempts.
        case limited(attempts: Int)
    }

    package enum Authorization: Hashable, Sendable, CaseIterable {
        case endpoint
        /// Many channels in one request.
        case batches
        /// With the application's secret.
        case inline
        /// By a function of the application's.
        case function
    }

    package init(seed: UInt64) { self.seed = seed }

    package static let dialects: [(name: String, dialect: PusherTestServer.Dialect)] = [
        ("pusher", .pusher), ("soketi", .soketi), ("reverb", .reverb), ("pylon", .pylon), ("ipe", .ipe),
        ("poxa", .poxa), ("slanger", .slanger), ("pusherFake", .pusherFake),
    ]
}
