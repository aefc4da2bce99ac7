import Chat
import Foundation
import PusherClient

/// A chat in a terminal.
///
///     terminal-chat                                   # two people in this process, on a server of this process
///     terminal-chat ada                               # with others, on the server of `pusher serve`
///     terminal-chat ada ws://HOST:PORT APP-KEY BACKEND-URL
///
/// The backend authorizes at BACKEND-URL/auth, and signs users in at BACKEND-URL/user-auth.
@main
enum TerminalChat {
    @MainActor
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let user = arguments.first else { return try await Demonstration.run() }
        let server =
            arguments.count > 1
            ? Array(arguments.dropFirst()) : ["ws://127.0.0.1:6001", "app-key", "http://127.0.0.1:6001/pusher"]
        guard server.count == 3, let url = URL(string: server[0]), let host = url.host else {
            print("Usage: terminal-chat [NAME [ws://HOST:PORT APP-KEY BACKEND-URL]]")
            exit(64)
        }
        let endpoint = PusherEndpoint(host: host, port: url.port, useTLS: url.scheme == "wss")
        let options = ChatRoom.options(for: user, endpoint: endpoint, backend: server[2])
        let room = ChatRoom("lobby", key: server[1], options: options)
        Screen(user).follow(room)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await room.run() }
            tasks.addTask {
                for await line in standardInputLines() {
                    do { try await room.say(line) } catch { print("! \(error.localizedDescription)") }
                }
            }
            // Stop when the input or the room ends.
            defer { tasks.cancelAll() }
            do { try await tasks.next() } catch let error as any LocalizedError {
                print("! \(error.localizedDescription)")
                exit(1)
            }
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

    /// Prints each change from now on. The room retains the screen.
    func follow(_ room: ChatRoom) { room.onChange = { [self] state in show(state) } }

    private func show(_ state: ChatState) {
        defer { shown = state }
        if let banner = state.banner, banner != shown.banner { line("! \(banner)") }
        if state.banner == nil, shown.banner != nil { line("! Connected") }
        if state.people != shown.people, !state.people.isEmpty { line("* \(state.people.joined(separator: ", "))") }
        for user in state.typing.subtracting(shown.typing).sorted() { line("… \(user) is typing") }
        for new in state.lines.dropFirst(shown.lines.count) {
            switch new {
            case .message(let text, let sender): line("<\(sender)> \(text)")
            case .announcement(let text): line("# \(text)")
            }
        }
    }

    private func line(_ text: String) { print("[\(name)] \(text)") }
}
