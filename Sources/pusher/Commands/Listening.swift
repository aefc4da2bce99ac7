import ArgumentParser
import Foundation
import PusherClient
import RealtimeJSON

/// One run of `pusher listen`.
struct Listening: Sendable {
    let server: Server
    let pusher: Pusher
    let channels: [String]
    let names: [String]
    let limit: Int?
    let timeLimit: Duration
    let output: OutputOptions
    /// The file that gets a recording of all events; nil if there is none.
    let recordingPath: String?

    /// The reason for the end of the run.
    private enum Ending: Sendable {
        case interrupted
        case limit
        case refused(String)
        case noConnection
        /// A task has ended, but the run continues.
        case none
    }

    private actor Report {
        private(set) var received = 0
        private(set) var printed = 0
        private(set) var connections = 0
        private(set) var lastReason: PusherClientError?

        func addReceived() { received += 1 }

        func addPrinted() -> Int {
            printed += 1
            return printed
        }

        func addConnection() { connections += 1 }

        /// Returns whether the reason is another one than the last reason.
        @discardableResult
        func note(_ reason: PusherClientError) -> Bool {
            defer { lastReason = reason }
            return lastReason?.message != reason.message
        }
    }

    func run() async throws {
        let recorder = try recordingPath.map { try EventRecorder(path: $0) }
        let interruption = Interruption()
        let signals = interruption.received
        let report = Report()
        let start = ContinuousClock.now
        // Make the sequences before the connection, so that the sequences miss no event.
        let (events, statuses) = (pusher.events, pusher.statuses)
        let subscriptions = channels.map { pusher.subscribe($0) }
        let (announced, announcement) = AsyncStream.makeStream(of: Void.self)
        let memberships = subscriptions.compactMap { channel in
            (channel as? PusherPresenceChannel).map { ($0.name, $0.memberships) }
        }
        if StandardError.isTerminal { StandardError.print("Connecting to \(server.address) …") }
        pusher.connect()
        let ending: Ending
        do {
            ending = try await withThrowingTaskGroup(of: Ending.self) { group in
                group.addTask {
                    for await _ in signals { return .interrupted }
                    return .none
                }
                group.addTask { await follow(statuses, report, announcement) }
                group.addTask {
                    try await Task.sleep(for: timeLimit)
                    return await report.connections == 0 ? .noConnection : .none
                }
                group.addTask { try await print(events, report, recorder) }
                group.addTask {
                    // The line about the connection comes before the lines about channels.
                    for await _ in announced {}
                    return await follow(subscriptions, memberships)
                }
                defer { group.cancelAll() }
                while let ending = try await group.next() {
                    if case .none = ending { continue }
                    return ending
                }
                return .none
            }
        } catch {
            await pusher.disconnected()
            recorder?.removeIfEmpty()
            throw error
        }
        await pusher.disconnected()
        do {
            try await finish(ending, report, elapsed: .now - start, dropped: events.droppedCount)
        } catch {
            recorder?.removeIfEmpty()
            throw error
        }
        withExtendedLifetime(interruption) {}
    }

    private func finish(_ ending: Ending, _ report: Report, elapsed: Duration, dropped: Int) async throws {
        switch ending {
        case .refused(let reason): throw StandardError.failure(reason)
        case .noConnection:
            let reason = await report.lastReason.map { ": \($0.message.asSentence)" } ?? "."
            let seconds = timeLimit.formatted(.units(allowed: [.seconds, .milliseconds], width: .narrow))
            throw StandardError.failure(
                """
                No connection to \(server.address) within \(seconds)\(reason) Check host and port, and whether the server \
                runs.\(server.schemeAdvice)
                """,
                .noConnection
            )
        case .interrupted, .limit, .none:
            let (received, printed) = (await report.received, await report.printed)
            let connections = await report.connections
            var parts = ["\(count(received, "event")) on \(count(channels.count, "channel"))"]
            if printed != received { parts.append("\(printed) printed") }
            if connections == 0 { parts.append("no connection") }
            if connections > 1 { parts.append(count(connections - 1, "reconnect")) }
            if dropped > 0 {
                let loss = recordingPath == nil ? "lost" : "lost, also for the recording"
                parts.append("\(count(dropped, "event")) \(loss), because the output was too slow")
            }
            let time = elapsed.formatted(.units(allowed: [.hours, .minutes, .seconds], width: .narrow))
            StandardError.print("\(parts.joined(separator: ", ")) in \(time)")
        }
    }

    private func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    // MARK: Connection

    private func follow(
        _ statuses: EventSequence<ConnectionStatus>,
        _ report: Report,
        _ announcement: AsyncStream<Void>.Continuation
    ) async -> Ending {
        defer { announcement.finish() }
        for await status in statuses {
            switch status {
            case .connected(let socketID):
                await report.addConnection()
                note("connected to \(server.address) as \(socketID)")
                announcement.finish()
            case .waiting(let until, _, let reason):
                let isNews = await report.note(reason)
                if await report.connections == 0 {
                    // Stop after these failures, because a retry would fail too. After other failures, the server may
                    // still be starting.
                    if [.tlsFailed, .nameResolutionFailed, .upgradeFailed, .invalidProxy].contains(reason.code) {
                        return .refused(explain(reason))
                    }
                    // The same reason again is no news, and the server may take its time to start.
                    guard isNews else { continue }
                }
                let delay = max((until - .now).seconds, 0)
                note("\(reason.message.asSentence) Next attempt in \(String(format: "%.1f", delay)) s")
            case .unavailable(let reason?):
                guard await report.note(reason) else { continue }
                note(reason.message.asSentence)
            case .refused(let error), .disconnected(let error?): return .refused(explain(error))
            case .initialized, .connecting, .unavailable, .disconnecting, .disconnected: break
            }
        }
        return .none
    }

    private func explain(_ error: PusherClientError) -> String {
        let advice: String
        switch error.code {
        case .tlsFailed where error.tlsFailure?.code == .notTLS: advice = "Use ws instead of wss, or another port."
        case .tlsFailed: advice = "Check the server's certificate, and that the port expects TLS."
        case .nameResolutionFailed: advice = "Check the name of the host or of the cluster."
        case .upgradeFailed: advice = "Check the port and the path, and whether the server expects wss."
        case .connectionRefused: advice = "Check --key, and whether the application is enabled."
        default: advice = "Check the options."
        }
        return """
            Connection to \(server.address) failed: \(error.message.asSentence) \(advice)\
            \(error.code == .tlsFailed ? server.schemeAdvice : "")
            """
    }

    private func follow(
        _ channels: [PusherChannel],
        _ memberships: [(String, EventSequence<MembershipChange>)]
    ) async -> Ending {
        await withTaskGroup(of: Ending.self) { group in
            for channel in channels { group.addTask { await subscribe(channel) } }
            for (name, changes) in memberships {
                group.addTask {
                    for await change in changes { tell(change, on: name) }
                    return .none
                }
            }
            for await ending in group {
                if case .none = ending { continue }
                group.cancelAll()
                return ending
            }
            return .none
        }
    }

    private func subscribe(_ channel: PusherChannel) async -> Ending {
        do {
            try await channel.subscribed()
            note("subscribed to \(channel.name)")
            return .none
        } catch let error as SubscriptionError where error.code != .unsubscribed {
            let words = (error.body ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let shown = words.isEmpty || words.hasPrefix("<") ? "" : " (\(words.prefix(fittingUTF8Bytes: 200)))"
            return .refused(
                """
                Subscription to \(channel.name.quoted) failed\(shown.escapingControls): \(error.message.asSentence)\
                \(Self.isRefusalOfSignature(error) ? " Check the secret, or your backend." : "")
                """
            )
        } catch {
            // The sequence of statuses reports the loss.
            return .none
        }
    }

    /// Returns whether the server refused the signature. The hosted service sends no code then, soketi 401, and Reverb
    /// 4009. A subscription to a public channel has no signature.
    private static func isRefusalOfSignature(_ error: SubscriptionError) -> Bool {
        error.code == .subscriptionRefused && [nil, 401, 4009].contains(error.serverCode)
            && ["private-", "presence-"].contains { error.channelName.hasPrefix($0) }
    }

    private func tell(_ change: MembershipChange, on channel: String) {
        switch change {
        case .added(let member): note("\(channel): \(member.userId.escapingControls) joined")
        case .removed(let member): note("\(channel): \(member.userId.escapingControls) left")
        case .replaced(let members, let added, let removed):
            let names = members.map(\.userId).sorted().prefix(20).joined(separator: ", ").escapingControls
            let rest = members.count > 20 ? " and \(members.count - 20) more" : ""
            note("\(channel): \(count(members.count, "member")): \(names)\(rest)")
            if added.count == members.count { return }
            for member in added { note("\(channel): \(member.userId.escapingControls) joined") }
            for member in removed { note("\(channel): \(member.userId.escapingControls) left") }
        }
    }

    private func note(_ text: String) {
        let time = StandardError.style.paint(WallTime.now.clock, .time)
        StandardError.print("\(time)  \(text)")
    }

    // MARK: Events

    private func print(
        _ events: EventSequence<PusherEvent>,
        _ report: Report,
        _ recorder: EventRecorder?
    ) async throws -> Ending {
        var recorder = recorder
        for await event in events {
            guard isFromChannels(event) else { continue }
            if let channel = event.channelName.flatMap({ pusher.channel($0) }) {
                try recorder?.record(event, on: channel)
            }
            if !event.eventName.hasPrefix("pusher:") { await report.addReceived() }
            guard isWanted(event) else { continue }
            let time = WallTime.now
            let (channel, data) = (event.channelName ?? "", event.data ?? "")
            try output.print(
                text: [line(event, at: time, channel: channel, data: describe(data: data, output.style))],
                json: [
                    ("time", PrintedJSON.quoted(time.iso8601)), ("channel", PrintedJSON.quoted(channel)),
                    ("event", PrintedJSON.quoted(event.eventName)),
                    ("user_id", event.userId.map { PrintedJSON.quoted($0) }),
                    ("data", describe(json: data)),
                ]
            )
            if await report.addPrinted() == limit { return .limit }
        }
        return .none
    }

    private func line(_ event: PusherEvent, at time: WallTime, channel: String, data: String) -> String {
        let words = [
            output.style.paint(time.clock, .time), output.style.paint(channel.escapingControls, .channel),
            output.style.paint(event.eventName.escapingControls, .event),
            event.userId.map { "from \($0.escapingControls)" },
        ]
        return words.compactMap { $0 }.joined(separator: "  ") + (data.hasPrefix("\n") ? data : "  \(data)")
    }

    private func isFromChannels(_ event: PusherEvent) -> Bool { event.channelName.map(channels.contains) ?? false }

    private func isWanted(_ event: PusherEvent) -> Bool {
        guard !event.eventName.hasPrefix("pusher:") else { return names.contains(event.eventName) }
        return names.isEmpty
            || names.contains { name in
                name.hasSuffix("*") ? event.eventName.hasPrefix(name.dropLast()) : event.eventName == name
            }
    }
}

extension String {
    /// The text with a full stop, unless it already ends with a punctuation mark.
    fileprivate var asSentence: String { last.map { ".!?".contains($0) } == true ? self : "\(self)." }
}

/// A point in time, in the two forms that the command prints.
struct WallTime {
    private let date: Date

    static var now: WallTime { WallTime(date: Date()) }

    /// The time of day with milliseconds, in this machine's time zone.
    var clock: String {
        // `DateComponents` has truncated nanoseconds, so the code rounds first, and takes only whole seconds from it.
        let milliseconds = (date.timeIntervalSinceReferenceDate * 1_000).rounded()
        let seconds = (milliseconds / 1_000).rounded(.down)
        let parts = Calendar.current.dateComponents(
            [.hour, .minute, .second],
            from: Date(timeIntervalSinceReferenceDate: seconds)
        )
        return String(
            format: "%02d:%02d:%02d.%03d",
            parts.hour ?? 0,
            parts.minute ?? 0,
            parts.second ?? 0,
            Int(milliseconds - seconds * 1_000)
        )
    }

    /// The date and time with milliseconds, in UTC.
    var iso8601: String { ISO8601.textWithMilliseconds(date) ?? "" }
}
