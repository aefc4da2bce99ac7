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
    private var members: [String: Set<String>] = [:]

    /// Whether the recording has reached its limit, so that later events are not part of it.
    private(set) var isFull = false

    /// Creates the file with its header. An existing file is not replaced.
    init(path: String) throws {
        self.path = path
        // The file contains what the user may see, so others must not read it.
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY, 0o600)
        guard descriptor >= 0 else {
            let reason =
                errno == EEXIST ? "the file exists already. Name another file." : String(cString: strerror(errno))
            throw StandardError.failure("Cannot record to \(path.quoted): \(reason)", .validationFailure)
        }
        file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try write(PusherTestServer.Recording.header)
    }

    /// Removes the file of a command that failed before the first event, so that the corrected command can use its name.
    /// Call this method of the value that has created the file, whose size is that of the header.
    func removeIfEmpty() { if (try? file.offset()) == UInt64(size) { unlink(path) } }

    /// - Parameter channel: The channel of the event.
    mutating func record(_ event: PusherEvent, on channel: PusherChannel) throws {
        let time = ContinuousClock.now - start
        if event.eventName.hasPrefix("pusher:") {
            guard let room = channel as? PusherPresenceChannel else { return }
            return try recordMembers(event, of: room, at: time)
        }
        try record(
            .init(
                time: time,
                channel: channel.name,
                name: event.eventName,
                data: event.data,
                userID: event.userId
            )
        )
    }

    /// Records members who have joined or left. The client's own user is no part of the recording.
    private mutating func recordMembers(_ event: PusherEvent, of room: PusherPresenceChannel, at time: Duration) throws
    {
        let member = event.data.flatMap { JSONValue(parsing: $0) }
        switch (event.eventName, member?["id"]?.string) {
        case ("pusher:member_added", let id?):
            let info = event.data.flatMap { JSONValue.read($0) { $0["info"]?.text } }
            try recordJoining(id, info: info, room, time)
        case ("pusher:member_removed", let id?):
            try recordLeaving(id, room, time)
        case ("pusher:subscription_succeeded", _):
            // The list may be newer than this event, so later events do not add or remove somebody again.
            let present = room.members
            for id in (members[room.name] ?? []).subtracting(present.map(\.userId)) {
                try recordLeaving(id, room, time)
            }
            for member in present { try recordJoining(member.userId, info: member.userInfoText, room, time) }
        default: break
        }
    }

    private mutating func recordJoining(
        _ id: String,
        info: String?,
        _ room: PusherPresenceChannel,
        _ time: Duration
    ) throws {
        guard id != room.myId, members[room.name, default: []].insert(id).inserted else { return }
        var fields = [("user_id", JSONWriter.string(id))]
        if let info, info != "null" { fields.append(("user_info", info)) }
        let data = JSONWriter.object(fields)
        try record(.init(time: time, channel: room.name, name: "pusher:member_added", data: data))
    }

    private mutating func recordLeaving(_ id: String, _ room: PusherPresenceChannel, _ time: Duration) throws {
        guard members[room.name]?.remove(id) != nil else { return }
        let data = JSONWriter.object([("user_id", JSONWriter.string(id))])
        try record(.init(time: time, channel: room.name, name: "pusher:member_removed", data: data))
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
