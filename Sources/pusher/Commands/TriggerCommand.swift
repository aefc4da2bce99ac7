import ArgumentParser
import Foundation
import PusherProtocol
import PusherServerAPI

struct TriggerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trigger",
        abstract: "Trigger an event.",
        usage: """
            pusher trigger CHANNEL EVENT [DATA] [options]
            pusher trigger --user ID EVENT [DATA] [options]
            pusher trigger --batch [--file PATH] [options]
            """,
        discussion: """
            Without DATA, the command reads the data from --file or the standard input, and removes the last line break. It \
            sends the data, usually JSON, byte for byte. It encrypts data for channels that begin with private-encrypted-.

            With --batch, each line of the input is an object: {"channel": …, "event": …, "data": …}. pusher listen --json \
            prints such lines. The command sends ten events at a time. It stops at the first error, and prints the number of \
            triggered events.

            EXAMPLES
              pusher trigger orders created '{"id": 1}'
              pusher trigger orders created --file order.json
              date | pusher trigger clock tick
              pusher trigger --user ada greeting '{"text": "hello"}'
              pusher listen orders > events.jsonl
              pusher trigger --batch --file events.jsonl
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The connection that does not get the event.", valueName: "id"))
    var socketID: String?

    @Option(help: ArgumentHelp("Send the event to a user who has signed in, instead of to a channel.", valueName: "id"))
    var user: String?

    @Option(help: ArgumentHelp("A file with the data, or with the batch.", valueName: "path"))
    var file: String?

    @Flag(help: "Reject channels that do not begin with private-encrypted-.")
    var encrypted = false

    @Flag(help: "Trigger many events, as described above.")
    var batch = false

    @Argument(help: "The channel, the event and its data.")
    var words: [String] = []

    private enum Target: Sendable {
        case channel(String)
        case user(String)
    }

    func validate() throws {
        if batch {
            guard words.isEmpty, user == nil, socketID == nil else {
                throw ValidationError(
                    "--batch takes no CHANNEL, EVENT, DATA, --user or --socket-id, because each line contains its own values."
                )
            }
            return
        }
        let names = user == nil ? 2 : 1
        guard (names...names + 1).contains(words.count) else {
            throw ValidationError(
                user == nil
                    ? "Give CHANNEL and EVENT, and DATA unless it comes from --file or the standard input."
                    : "With --user, give EVENT, and DATA unless it comes from --file or the standard input."
            )
        }
        guard words.count == names || file == nil else { throw ValidationError("DATA and --file exclude each other.") }
        if encrypted {
            guard user == nil, words[0].hasPrefix("private-encrypted-") else {
                throw ValidationError("--encrypted needs a channel that begins with private-encrypted-.")
            }
        }
    }

    func run() async throws {
        if batch { return try await triggerBatch() }
        let target: Target = user.map { .user($0) } ?? .channel(words[0])
        let name = words[user == nil ? 1 : 0]
        let data = try words.dropFirst(user == nil ? 2 : 1).first ?? Input.text(ofFile: file)
        let event = PusherServerAPI.Event(name, data: data, excluding: socketID)
        try await server.withAPI { api in
            switch target {
            case .channel(let channel): try await api.trigger(event, on: channel)
            case .user(let user): try await api.send(event, toUser: user)
            }
        }
        let text: String
        let place: (String, String?)
        switch target {
        case .channel(let channel):
            text = "Triggered \(name.quoted) on \(channel)."
            place = ("channel", PrintedJSON.quoted(channel))
        case .user(let user):
            text = "Sent \(name.quoted) to the user \(user.quoted)."
            place = ("user", PrintedJSON.quoted(user))
        }
        try output.print(text: [text], json: [("event", PrintedJSON.quoted(name)), place])
    }

    // MARK: Batches

    private func triggerBatch() async throws {
        // Split at line feeds only, because JSON may contain Unicode's other line breaks without escapes.
        let lines = try Input.text(ofFile: file).utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        let events = try lines.enumerated().compactMap { index, line in
            let line = String(Substring(line)).trimmingCharacters(in: .whitespacesAndNewlines)
            if line.isEmpty { return nil as PusherServerAPI.BatchEvent? }
            return try Self.event(inLine: line, number: index + 1, isEncrypted: encrypted)
        }
        let triggered = Counter()
        do {
            try await server.withAPI { api in
                for start in stride(from: 0, to: events.count, by: api.options.limits.eventsPerBatch) {
                    let end = min(start + api.options.limits.eventsPerBatch, events.count)
                    try await api.trigger(Array(events[start..<end]))
                    await triggered.set(end)
                    if StandardError.isTerminal, end < events.count {
                        StandardError.print("\(end) of \(events.count) events triggered")
                    }
                }
            }
        } catch {
            StandardError.print("\(await triggered.value) of \(events.count) events were triggered before the failure.")
            throw error
        }
        try output.print(
            text: ["Triggered \(events.count) \(events.count == 1 ? "event" : "events")."],
            json: [("triggered", "\(events.count)")]
        )
    }

    private actor Counter {
        private(set) var value = 0
        func set(_ value: Int) { self.value = value }
    }

    private static func event(
        inLine line: String,
        number: Int,
        isEncrypted: Bool
    ) throws -> PusherServerAPI.BatchEvent {
        let failure = { (reason: String) in
            StandardError.failure(
                "Line \(number) of the batch cannot be used: \(reason). Nothing was triggered.",
                .validationFailure
            )
        }
        guard let members = JSONMembers(parsing: line) else { throw failure("it is not a JSON object") }
        guard let channel = members.value("channel")?.string else { throw failure("it has no channel") }
        guard let name = (members.value("event") ?? members.value("name"))?.string else {
            throw failure("it has no event")
        }
        guard let text = members["data"] else { throw failure("it has no data") }
        guard !isEncrypted || channel.hasPrefix("private-encrypted-") else {
            throw failure("its channel is not encrypted")
        }
        return .init(
            .init(
                name,
                data: members.value("data")?.string ?? text,
                excluding: members.value("socket_id")?.string
            ),
            on: channel
        )
    }
}

/// The input of a command: a file or the standard input.
enum Input {
    /// Returns the content of a file or of the standard input, without the last line break.
    static func text(ofFile path: String?) throws -> String {
        let data: Data
        if let path {
            guard let contents = FileManager.default.contents(atPath: path) else {
                throw StandardError.failure(
                    "The file \(path.quoted) cannot be read. Check its name and permissions.",
                    .failure
                )
            }
            data = contents
        } else {
            guard isatty(STDIN_FILENO) == 0 else {
                throw StandardError.failure(
                    "There is no data. Give it as the last argument, with --file, or through a pipe.",
                    .validationFailure
                )
            }
            do {
                data = try FileHandle.standardInput.readToEnd() ?? Data()
            } catch {
                throw StandardError.failure("The standard input cannot be read. Give the data with --file.", .failure)
            }
        }
        guard var text = String(validating: data, as: UTF8.self) else {
            throw StandardError.failure("The data is not UTF-8. Encode it first, for example in base64.", .failure)
        }
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}
