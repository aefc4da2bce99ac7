import Chat
import Foundation
import PusherClient

/// A chat in a terminal.
///
///     terminal-chat                                   # two people in this process, on a server of this process
///     terminal-chat ada                               # with others, on the server of `pusher serve`
///     terminal-chat ada ws://HOST:PORT APP-KEY AUTH-URL
@main
enum TerminalChat {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let user = arguments.first else { return try await Demonstration.run() }
        let rest = Array(arguments.dropFirst())
        guard let url = URL(string: rest.first ?? "ws://127.0.0.1:6001"), let host = url.host else {
            throw CocoaError(.fileReadInvalidFileName)
        }
        let backend = rest.count > 2 ? rest[2] : "http://\(host):\(url.port ?? 80)/pusher"
        let endpoint = PusherEndpoint(host: host, port: url.port, useTLS: url.scheme == "wss")
        let options = ChatRoom.options(for: user, endpoint: endpoint, backend: backend)
        let room = ChatRoom("lobby", key: rest.count > 1 ? rest[1] : "app-key", options: options)
        Screen(user).show(room)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await room.run() }
            tasks.addTask {
                for await line in standardInputLines() { try await room.say(line) }
            }
            // The first task that ends is the input or the connection.
            try await tasks.next()
            tasks.cancelAll()
        }
    }
}

/// The lines from the keyboard. `readLine` blocks, so it has a separate thread.
private func standardInputLines() -> AsyncStream<String> {
    AsyncStream { continuation in
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
    }
}

/// Prints the changes of a room's state.
@MainActor
final class Screen {
    private let name: String
    private var shown = ChatState()

    init(_ name: String) { self.name = name }

    func show(_ room: ChatRoom) { room.onChange = { [self] state in show(state) } }

    private func show(_ state: ChatState) {
        defer { shown = state }
        if let banner = state.banner, banner != shown.banner { line("! \(banner)") }
        if state.banner == nil, shown.banner != nil { line("! Connected") }
        if state.people != shown.people, !state.people.isEmpty { line("* \(state.people.joined(separator: ", "))") }
        for user in state.typing.subtracting(shown.typing) { line("… \(user) is typing") }
        for new in state.lines.dropFirst(shown.lines.count) {
            switch new {
            case .message(let text, let sender): line("<\(sender)> \(text)")
            case .announcement(let text): line("# \(text)")
            }
        }
    }

    private func line(_ text: String) { print("[\(name)] \(text)") }
}
