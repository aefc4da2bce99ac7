import Foundation
import PusherProtocol
import RealtimeJSON
import RealtimePrimitives

extension PusherTestServer {
    /// The events that a client received, with their times. `pusher listen --record FILE` makes a recording of any server,
    /// and ``replay(_:speed:clock:)`` plays it back.
    ///
    /// ```swift
    /// let recording = try PusherTestServer.Recording(contentsOfFile: "yesterday.jsonl")
    /// try await server.waitForSubscription(to: "orders")
    /// try await server.replay(recording)
    /// ```
    ///
    /// A recording is a text of JSON lines. The first line is the header `{"recording":"pusher","version":1}`. Each other
    /// line is one event: `{"time":1.25,"channel":"orders","event":"created","data":"{\"id\":1}"}`, with the seconds since
    /// the beginning, and a `user_id` if the event has one. It contains no keys, signatures or socket ids. The data of
    /// encrypted channels is not encrypted in it.
    public struct Recording: Hashable, Sendable {
        /// One event of a recording.
        public struct Event: Hashable, Sendable {
            /// The time since the beginning of the recording.
            public var time: Duration
            /// The channel's name.
            public var channel: String
            /// The event's name. The names `pusher:member_added` and `pusher:member_removed` stand for members of a
            /// presence channel, who join and leave.
            public var name: String
            /// The data, as the client got it; nil if the event has no data.
            public var data: String?
            /// The user who sent the event, for client events on presence channels; otherwise nil.
            public var userID: String?

            /// Creates an event.
            ///
            /// - Parameters:
            ///   - time: The time since the beginning of the recording.
            ///   - channel: The channel's name.
            ///   - name: The event's name.
            ///   - data: The data. Default: none.
            ///   - userID: The user who sent the event. Default: none.
            public init(time: Duration, channel: String, name: String, data: String? = nil, userID: String? = nil) {
                self.time = time
                self.channel = channel
                self.name = name
                self.data = data
                self.userID = userID
            }
        }

        /// The events in their order.
        public var events: [Event]

        /// The version of the format, which the header contains.
        public static let version = 1
        /// The maximum size of a recording, in bytes.
        public static let maximumSize = 256 * 1_024 * 1_024
        /// The maximum number of events.
        public static let maximumEventCount = 1_000_000

        package static let header = #"{"recording":"pusher","version":\#(version)}"#

        /// Creates a recording.
        public init(events: [Event]) { self.events = events }

        /// The recording as text: the header and a line for each event.
        public var text: String {
            var lines = [Self.header]
            lines += events.map(\.line)
            return lines.joined(separator: "\n") + "\n"
        }
    }
}

// MARK: Reading

extension PusherTestServer.Recording {
    private typealias ServerError = PusherTestServer.ServerError

    /// Reads a recording from a file.
    ///
    /// - Throws: ``PusherTestServer/ServerError`` with the code
    ///   ``PusherTestServer/ServerError/Code/invalidRecording``, if the file cannot be read, is larger than
    ///   ``maximumSize``, or contains a line that is not part of a recording. The message contains the line's number.
    public init(contentsOfFile path: String) throws {
        let data: Data
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            var bytes = Data()
            // A pipe gives its bytes in parts.
            while bytes.count <= Self.maximumSize, let part = try file.read(upToCount: 1 << 20), !part.isEmpty {
                bytes += part
            }
            data = bytes
        } catch {
            throw ServerError(
                .invalidRecording,
                "Recording \(path.quoted) not read: \((error as NSError).localizedDescription)",
                cause: error
            )
        }
        guard data.count <= Self.maximumSize else {
            throw Self.invalid("it has more than \(Self.maximumSize) bytes. Record fewer events.")
        }
        guard data.withUnsafeBytes({ $0.isUTF8 }) else { throw Self.invalid("it is not UTF-8 text.") }
        try self.init(text: String(decoding: data, as: UTF8.self))
    }

    /// Reads a recording from its text. Empty lines do not count.
    ///
    /// - Throws: ``PusherTestServer/ServerError`` with the code
    ///   ``PusherTestServer/ServerError/Code/invalidRecording``, if a line is not part of a recording. The message
    ///   contains the line's number.
    public init(text: String) throws {
        guard text.utf8.count <= Self.maximumSize else {
            throw Self.invalid("it has more than \(Self.maximumSize) bytes. Record fewer events.")
        }
        events = []
        var hasHeader = false
        var (rest, number) = (text.utf8[...], 0)
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            let line = Substring(rest[..<end])
            rest = rest[end...].dropFirst()
            number += 1
            guard line.contains(where: { !$0.isWhitespace }) else { continue }
            guard hasHeader else {
                try Self.check(header: String(line), number)
                hasHeader = true
                continue
            }
            guard events.count < Self.maximumEventCount else {
                throw Self.invalid("it has more than \(Self.maximumEventCount) events. Record fewer events.")
            }
            events.append(try Event(line: String(line), number: number))
        }
        guard hasHeader else { throw Self.invalid("it is empty. Its first line must be \(Self.header).") }
    }

    private static func check(header: String, _ number: Int) throws {
        let value = JSONValue(parsing: header)
        guard value?["recording"]?.string == "pusher", let version = value?["version"]?.integer else {
            throw invalid("line \(number) is not the header \(Self.header).")
        }
        guard version == Self.version else {
            throw invalid("it has the version \(version), and this program reads version \(Self.version).")
        }
    }

    fileprivate static func invalid(_ reason: String) -> PusherTestServer.ServerError {
        PusherTestServer.ServerError(.invalidRecording, "Invalid recording: \(reason)")
    }
}

extension PusherTestServer.Recording.Event {
    /// The event as a line of a recording, without the line break.
    package var line: String {
        let (seconds, attoseconds) = time.components
        let digits = String(1_000_000 + attoseconds / 1_000_000_000_000).dropFirst()
        let members: [(String, String?)] = [
            ("time", "\(seconds).\(digits)"),
            ("channel", JSONWriter.string(channel)),
            ("event", JSONWriter.string(name)),
            ("user_id", userID.map { JSONWriter.string($0) }),
            ("data", data.map { JSONWriter.string($0) }),
        ]
        return JSONWriter.object(members.compactMap { name, value in value.map { (name, $0) } })
    }

    fileprivate init(line: String, number: Int) throws {
        func invalid(_ reason: String) -> PusherTestServer.ServerError {
            PusherTestServer.Recording.invalid("line \(number) \(reason).")
        }
        guard let value = JSONValue(parsing: line), value.object != nil else { throw invalid("is not a JSON object") }
        let seconds: Double? =
            switch value["time"] {
            case .integer(let number): Double(number)
            case .number(let number): number
            default: nil
            }
        guard let seconds, (0...1e9).contains(seconds) else { throw invalid("has no time in seconds") }
        guard let channel = value["channel"]?.string else { throw invalid("has no channel") }
        guard let name = value["event"]?.string else { throw invalid("has no event") }
        self.init(time: .seconds(seconds), channel: channel, name: name)
        switch value["data"] {
        case nil, .null: data = nil
        case .string(let text): data = text
        default: throw invalid("has data that is not a string")
        }
        switch value["user_id"] {
        case nil, .null: userID = nil
        case .string(let text): userID = text
        default: throw invalid("has a user_id that is not a string")
        }
    }
}
