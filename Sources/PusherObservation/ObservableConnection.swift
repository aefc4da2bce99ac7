public import Observation
public import PusherClient

/// The connection of a client, for a view that shows a banner: see <doc:ShowItInSwiftUI>.
///
/// ```swift
/// let connection = ObservableConnection(pusher)
/// if let banner = connection.banner { show(banner) }    // in the body of a view: Text(banner)
/// ```
///
/// The object follows the client from its creation until its release. It does not keep the client alive. After the
/// client is released, the properties keep their last values.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor @Observable
public final class ObservableConnection {
    /// The status of the connection. Switch over it to choose your own texts.
    public private(set) var status: ConnectionStatus

    /// The seconds until the next attempt, rounded up; nil if the client does not wait for an attempt. The value counts
    /// down once per second.
    public private(set) var secondsUntilNextAttempt: Int?

    /// Whether the client is connected.
    public var isConnected: Bool {
        if case .connected = status { true } else { false }
    }

    /// A text in English for a banner, for example `No connection. Trying again in 8 s.`; nil if there is nothing to
    /// report, which is so before the first attempt and while the client is connected.
    public var banner: String? {
        switch status {
        case .initialized, .connected: nil
        case .connecting, .unavailable: "Connecting…"
        case .waiting: "No connection. Trying again in \(secondsUntilNextAttempt ?? 0) s."
        case .refused(let error), .disconnected(reason: let error?): error.message
        case .disconnecting, .disconnected(reason: nil): "Offline"
        }
    }

    @ObservationIgnored private var work: Task<Void, Never>?
    /// The client's clock, which may be that of a test.
    @ObservationIgnored private let now: @Sendable () -> ContinuousClock.Instant

    /// Creates an object that follows the client.
    public init(_ pusher: Pusher) {
        now = pusher.engine.clock
        status = pusher.status
        secondsUntilNextAttempt = Self.seconds(pusher.status, at: now())
        let statuses = pusher.statuses(every: .seconds(1))
        work = Task { [weak self] in
            for await status in statuses { self?.show(status) }
        }
    }

    deinit { work?.cancel() }

    private func show(_ new: ConnectionStatus) {
        if status != new { status = new }
        let seconds = Self.seconds(new, at: now())
        if secondsUntilNextAttempt != seconds { secondsUntilNextAttempt = seconds }
    }

    private static func seconds(_ status: ConnectionStatus, at now: ContinuousClock.Instant) -> Int? {
        status.remaining(at: now).map { Int(min(($0 / .seconds(1)).rounded(.up), 1e9)) }
    }
}
