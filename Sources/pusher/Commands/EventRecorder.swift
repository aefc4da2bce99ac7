import ArgumentParser
import Foundation
import PusherClient
import PusherTestServer
import RealtimeJSON

/// Writes the events that a client receives to a file, for `pusher serve --replay`.
struct EventRecorder {
    private let path: String
    private let file: FileHandle
    private let start = ContinuousClock.now
    private var size = 0
    private var eventCount = 0
    /// The members whom the recording contains, by channel.
    private var members: [String: [String]] = [:]

    /// Whether the recording has reached its limit, so that later events are not part of it.
    private(set) var isFull = false

    /// Creates the file with its header. An existing file is not replaced.
    init(path: String) throws {
        self.path = path
        do {
            try Data().write(to: URL(fileURLWithPath: path), options: .withoutOverwriting)
            file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        } catch {
            let reason =
                (error as? CocoaError)?.code == .fileWriteFileExists
                ? "the file exists already. Name another file." : (error as NSError).localizedDescription
            throw StandardError.failure("Cannot record to \(path.quoted): \(reason)", .validationFailure)
        }
        try write(PusherTestServer.Recording.header)
    }

    /// - Parameter channel: The channel of the event.
    mutating func record(_ event: PusherEvent, on channel: PusherChannel) throws {
        let time = ContinuousClock.now - start
        if event.eventName.hasPrefix("pusher:") {
            guard let room = channel as? PusherPresenceChannel else { return }
            return try recordMembers(of: room, at: time)
        }
        try record(
            .init(
                time: time,
                channel: channel.name,
                name: event.eventName,
                data: event.data,
                userId: event.userId
            )
        )
    }

    /// Records who has joined and left since the last event of the channel. The client's own user is no part of the
    /// recording.
    private mutating func recordMembers(of room: PusherPresenceChannel, at time: Duration) throws {
        let present = room.members.filter { $0.userId != room.myId }
        let known = members[room.name] ?? []
        members[room.name] = present.map(\.userId)
        for id in known where !present.contains(where: { $0.userId == id }) {
            let data = JSONWriter.object([("user_id", JSONWriter.string(id))])
            try record(.init(time: time, channel: room.name, name: "pusher:member_removed", data: data))
        }
        for member in present where !known.contains(member.userId) {
            var fields = [("user_id", JSONWriter.string(member.userId))]
            if let info = member.userInfoText { fields.append(("user_info", info)) }
            let data = JSONWriter.object(fields)
            try record(.init(time: time, channel: room.name, name: "pusher:member_added", data: data))
        }
    }

    private mutating func record(_ event: PusherTestServer.Recording.Event) throws {
        let line = event.line
        guard !isFull, size + line.utf8.count < PusherTestServer.Recording.maximumSize,
            eventCount < PusherTestServer.Recording.maximumEventCount
        else {
            if !isFull { StandardError.print("The recording \(path.quoted) is full. Later events are not part of it.") }
            isFull = true
            return
        }
        eventCount += 1
        try write(line)
    }

    private mutating func write(_ line: String) throws {
        let bytes = Data((line + "\n").utf8)
        size += bytes.count
        do {
            try file.write(contentsOf: bytes)
        } catch {
            throw StandardError.failure("Cannot record to \(path.quoted): \((error as NSError).localizedDescription)")
        }
    }
}
