import PusherProtocol
import RealtimeJSON

extension PusherTestServer {
    /// Plays a recording back: publishes its events to the current subscribers of their channels, in their order.
    ///
    /// A member who joined in the recording joins as a ``FakeMember``, and stays until the recording says that they
    /// leave, or until ``shutdown()``. They also send the recorded client events of their presence channel. Other client
    /// events come without a sender. Events that nobody is subscribed to are lost, so wait for your app's subscriptions
    /// first: ``waitForSubscription(to:count:timeout:)``.
    ///
    /// - Parameters:
    ///   - recording: The recording.
    ///   - speed: How many times as fast as in the recording, from 0.001 to 1,000,000. Default: nil, without any waits.
    ///     Without waits, the server drops a subscriber that falls behind by more than ``Options/maximumQueueSize``, so
    ///     play a large recording with a speed.
    ///   - clock: The clock for the waits. Default: the system's.
    /// - Returns: The number of events that at least one connection got. Members who join and leave do not count.
    /// - Throws: ``ServerError`` with the code ``ServerError/Code/invalidRecording`` if the speed is out of range,
    ///   ``ServerError/Code/invalidEvent`` or ``ServerError/Code/invalidMember`` if the recording contains an event that
    ///   breaks the protocol's rules. `CancellationError` if the task is cancelled.
    @discardableResult
    public func replay<C: Clock>(
        _ recording: Recording,
        speed: Double? = nil,
        clock: C = ContinuousClock()
    ) async throws -> Int where C.Duration == Duration {
        if let speed, !Self.replaySpeeds.contains(speed) {
            let reason = "the speed \(speed) is not between 0.001 and 1000000"
            throw ServerError(.invalidRecording, "Recording not played: \(reason).")
        }
        var cast: [String: FakeMember] = [:]
        var reachedCount = 0
        let start = clock.now
        for event in recording.events {
            try Task.checkCancellation()
            if let speed {
                // A clock counts nanoseconds, so a time of decades could overflow.
                let due = start.advanced(by: min(event.time / speed, .seconds(86_400 * 365)))
                if clock.now < due { try await clock.sleep(until: due, tolerance: nil) }
            }
            if try play(event, &cast) { reachedCount += 1 }
        }
        return reachedCount
    }

    package static let replaySpeeds = 0.001...1_000_000.0

    /// Waits until a connection is subscribed to any channel of the recording.
    ///
    /// - Parameters:
    ///   - recording: The recording.
    ///   - timeout: The longest wait, in real time; nil for no limit. Default: 60 s.
    /// - Throws: ``ServerError`` with ``ServerError/Code/waitTimedOut``, or `CancellationError`.
    package func waitForSubscription(
        toAnyChannelOf recording: Recording,
        timeout: Duration? = .seconds(60)
    ) async throws {
        let channels = Set(recording.events.map(\.channel))
        try await engine.wait(timeout: timeout, for: "a subscription to a channel of the recording") {
            engine.read { brain in
                channels.contains { brain.openConnections(.subscribers(of: $0), atLeast: 1) != nil } ? () : nil
            }
        }
    }

    /// - Parameter cast: The members who joined in the recording, by channel and user.
    /// - Returns: Whether a connection got the event.
    private func play(_ event: Recording.Event, _ cast: inout [String: FakeMember]) throws -> Bool {
        let user = event.data.flatMap { JSONValue(parsing: $0) }
        let userID = event.userID ?? user?["user_id"]?.identifier
        let role = "\(event.channel)\n\(userID ?? "")"
        switch event.name {
        case EventName.memberAdded:
            guard let userID, cast[role] == nil else { return false }
            let info = event.data.flatMap { JSONValue.read($0) { $0["user_info"]?.text } }
            cast[role] = try join(userID, in: event.channel, userInfo: info)
            return false
        case EventName.memberRemoved:
            cast.removeValue(forKey: role)?.leave()
            return false
        case let name where EventName.isProtocolEvent(name):
            return false
        case let name where EventName.isClientEvent(name) && event.userID != nil && cast[role] != nil:
            return try cast[role]?.send(name, data: event.data ?? "{}") ?? 0 > 0
        default:
            guard let data = event.data else {
                sendEvent(event.name, data: nil, channel: event.channel, to: .subscribers(of: event.channel))
                return engine.read { $0.openConnections(.subscribers(of: event.channel), atLeast: 1) } != nil
            }
            return try publish(event: event.name, data: data, to: event.channel) > 0
        }
    }
}
