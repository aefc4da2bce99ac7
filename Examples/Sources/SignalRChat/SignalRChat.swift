import SignalRClient
import SignalRTestServer

/// Shows two people who chat over a hub on this machine. One person loses the connection and reconnects, and no message
/// is lost.
@main
enum SignalRChat {
    static func main() async throws {
        let server = try await SignalRTestServer.start()
        let hub = ChatHub()
        hub.serve(on: server)
        let screen = Screen(columns: ["Ann", "Ben"])

        let ann = ChatClient("Ann", url: server.url, screen)
        let ben = ChatClient("Ben", url: server.url, screen)
        try await ann.join()
        try await pause()
        try await ben.join()
        try await pause()
        try await ann.say("Hello, Ben!")
        try await pause()
        try await ben.say("Hi, Ann. I am back.")
        try await pause()
        try await ann.loseConnection()
        try await pause()
        try await ben.say("Are you still there?")
        try await pause()
        try await pause()
        try await ann.say("I am. My network was not.")
        try await pause()
        await ann.leave()
        await ben.leave()
        await server.shutdown()

        let sent = await hub.messages
        guard await ann.received == sent, await ben.received == sent else { throw MissedMessage() }
        print("\n\(sent.count) messages, one lost connection, and both have read everything.")
    }

    /// Waits long enough for the user to read a line.
    private static func pause() async throws { try await Task.sleep(for: .milliseconds(800)) }
}

struct Message: Codable, Hashable, Sendable {
    /// The number of the message in the hub, from 1.
    var number: Int
    var user: String
    var text: String
}

/// A hub as an ASP.NET Core server would implement it. The hub sends messages to all connected clients, and stores the
/// messages for clients that reconnect.
actor ChatHub {
    private(set) var messages: [Message] = []

    nonisolated func serve(on server: SignalRTestServer) {
        server.on("Join") { [weak server] (_, user: String) in
            server?.sendAll("Joined", user)
        }
        server.on("Say") { [weak server] (_, user: String, text: String) in
            server?.sendAll("Received", await self.add(user, text))
        }
        server.on("MessagesAfter") { (_, number: Int) in
            await self.messages.filter { $0.number > number }
        }
    }

    private func add(_ user: String, _ text: String) -> Message {
        let message = Message(number: messages.count + 1, user: user, text: text)
        messages.append(message)
        return message
    }
}

/// The app of one person.
actor ChatClient {
    private let name: String
    private let screen: Screen
    private let connection: HubConnection
    private var messages: [Int: Message] = [:]

    init(_ name: String, url: String, _ screen: Screen) {
        self.name = name
        self.screen = screen
        connection = HubConnectionBuilder().withUrl(url: url).withAutomaticReconnect([1, 2, 5]).build()
    }

    /// The messages that the person has read, in the order of the hub.
    var received: [Message] { messages.values.sorted { $0.number < $1.number } }

    func join() async throws {
        await connection.on("Joined") { [screen, name] (user: String) in screen.show("\(user) joined", to: name) }
        await connection.on("Received") { [weak self] (message: Message) in await self?.show(message) }
        try await connection.start()
        let states = connection.statuses
        Task { [weak self] in
            for await status in states {
                guard await self?.follow(status) == true else { return }
            }
        }
        try await connection.invoke(method: "Join", arguments: name)
    }

    func say(_ text: String) async throws {
        try await connection.invoke(method: "Say", arguments: name, text)
    }

    func leave() async { await connection.stop() }

    /// Makes the server drop the connection without a close frame, like a network failure.
    func loseConnection() async throws { try await connection.send(method: "drop_me") }

    /// Shows the status in the banner of the chat. Returns whether more statuses follow.
    private func follow(_ status: HubConnectionStatus) async -> Bool {
        switch status {
        case .connected:
            screen.show("[connected]", to: name)
            await catchUp()
        case .waiting:
            let seconds = String(format: "%.1f", (status.remaining() ?? .zero) / .seconds(1))
            screen.show("[connection lost, next attempt in \(seconds) s]", to: name)
        case .stopped:
            screen.show("[left]", to: name)
            return false
        case .connecting, .resuming, .resumed: break
        }
        return true
    }

    /// A hub does not repeat messages that it sent while the connection was lost, so the app requests the missed
    /// messages.
    private func catchUp() async {
        let last = messages.keys.max() ?? 0
        // If there is no answer, the connection was lost again, and the app catches up on the next connection.
        let missed: [Message]? = try? await connection.invoke(method: "MessagesAfter", arguments: last)
        for message in missed ?? [] { show(message) }
    }

    private func show(_ message: Message) {
        guard messages.updateValue(message, forKey: message.number) == nil else { return }
        screen.show("\(message.user): \(message.text)", to: name)
    }
}

/// The output, with a column for each person.
struct Screen: Sendable {
    private static let width = 44
    private let start = ContinuousClock.now
    private let columns: [String]

    init(columns: [String]) {
        self.columns = columns
        print("          " + columns.map { $0.padding(toLength: Self.width, withPad: " ", startingAt: 0) }.joined())
    }

    func show(_ text: String, to person: String) {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let column = columns.firstIndex(of: person) ?? 0
        print(String(format: "%6.1f s  ", seconds) + String(repeating: " ", count: column * Self.width) + text)
    }
}

private struct MissedMessage: Error {}
