import PusherClient

/// A chat room, and the actions of a person in it. It is independent of the user interface, which shows `state`.
///
/// Messages and typing indicators are client events on a presence channel. Announcements come from the backend on an
/// encrypted channel, and the backend signs the user in.
@MainActor
package final class ChatRoom {
    /// The state to show. `onChange` is called after each change.
    package private(set) var state = ChatState() {
        didSet { onChange(state) }
    }
    package var onChange: (ChatState) -> Void = { _ in }

    private let pusher: Pusher
    private let room: PusherPresenceChannel
    private let announcements: PusherChannel
    private var typingEnds: [String: Task<Void, Never>] = [:]

    package init(_ name: String, key: String, options: PusherClientOptions) {
        pusher = Pusher(key: key, options: options)
        room = pusher.subscribeToPresenceChannel(channelName: "presence-\(name)")
        announcements = pusher.subscribe("private-encrypted-\(name)")
    }

    /// Stays in the room until the task is cancelled.
    ///
    /// - Throws: If the backend does not let the user in, or the server ends the connection for good. A lost connection
    ///   is not an error: the client reconnects, and `state.banner` says so.
    package func run() async throws {
        // All sequences are made before the client connects, so that they miss no event.
        let statuses = pusher.statuses(every: .seconds(1))
        let memberships = room.memberships
        let messages = room.events(named: "client-message", as: Message.self)
        let typing = room.events(named: "client-typing")
        let announced = announcements.values(named: "announcement", as: Message.self)

        // This runs last, after the following tasks have ended.
        defer { (state.isInside, state.banner) = (false, "You have left the room") }
        async let _ = follow(statuses) { chat, status in chat.state.banner = status.banner }
        async let _ = follow(memberships) { chat, _ in chat.showPeople() }
        async let _ = follow(messages) { chat, message in
            chat.add(message.value, from: message.userId ?? "somebody")
        }
        async let _ = follow(typing) { chat, event in chat.showTyping(event.userId) }
        async let _ = follow(announced) { chat, message in chat.add(message, from: "announcement") }

        try await pusher.withConnection { _ in
            // The backend says who the user is.
            try await pusher.signedIn()
            try await room.subscribed()
            try await announcements.subscribed()
            state.isInside = true
            // Until the task is cancelled, or the connection ends for good.
            for await _ in pusher.statuses {}
        }
    }

    /// Sends a message to everybody in the room.
    ///
    /// - Throws: `PusherClientError` if it was not sent, for example because the connection was lost.
    package func say(_ text: String) async throws {
        let message = Message(text: text)
        try await room.send("client-message", data: message)
        // The server does not send a client event back to its sender.
        add(message, from: room.myId ?? "me")
    }

    /// Tells the others that the user is typing. Call it for each key press. Events beyond the server's limit are
    /// dropped.
    package func userIsTyping() { room.sendLatest("client-typing", data: [String: String]()) }

    private func follow<Elements: AsyncSequence & Sendable>(
        _ elements: Elements,
        _ show: @MainActor (ChatRoom, Elements.Element) -> Void
    ) async where Elements.Failure == Never {
        for await element in elements { show(self, element) }
    }

    private func add(_ message: Message, from sender: String) {
        state.typing.remove(sender)
        state.lines.append(.init(sender, message.text))
    }

    private func showPeople() {
        state.people = room.members.map(\.userId).sorted()
        state.typing.formIntersection(state.people)
    }

    private func showTyping(_ user: String?) {
        guard let user else { return }
        state.typing.insert(user)
        typingEnds[user]?.cancel()
        typingEnds[user] = Task { [weak self] in
            guard (try? await Task.sleep(for: .seconds(3))) != nil else { return }
            self?.state.typing.remove(user)
        }
    }
}

/// What is sent. Only the text: the server says who sent it.
struct Message: Codable, Sendable { var text: String }
