import PusherClient

/// A chat room, and the actions of a person in the room. It is independent of the user interface, which shows `state`.
///
/// Messages and typing indicators are client events on a presence channel. Announcements come from the backend on an
/// encrypted channel. The backend can end the connections of a user, because the user signs in.
@MainActor
package final class ChatRoom {
    /// The state to show. The room calls `onChange` after each change.
    package private(set) var state = ChatState() {
        didSet { onChange(state) }
    }
    package var onChange: (ChatState) -> Void = { _ in }

    private let pusher: Pusher
    private let room: PusherPresenceChannel
    private let announcements: PusherChannel
    private var observations: [EventObservation] = []
    private var typingEnds: [String: Task<Void, Never>] = [:]

    package init(_ name: String, key: String, options: PusherClientOptions) {
        pusher = Pusher(key: key, options: options)
        // Unlike `subscribe`, this method returns a channel with members.
        room = pusher.subscribeToPresenceChannel(channelName: "presence-\(name)")
        announcements = pusher.subscribe("private-encrypted-\(name)")
        observations = observeEvents()
        // The sequence ends when the room releases the client.
        let statuses = pusher.statuses(every: .seconds(1))
        Task { [weak self] in for await status in statuses { self?.show(status) } }
    }

    /// The options of an app whose backend authorizes channels at BACKEND/auth, and users at BACKEND/user-auth.
    ///
    /// In this example, users choose their own ids. A real app sends a token that `headersProvider` returns.
    package static func options(for user: String, endpoint: PusherEndpoint, backend: String) -> PusherClientOptions {
        let options = PusherClientOptions(endpoint: endpoint)
        options.authMethod = .endpoint(backend + "/auth", parameters: ["user_id": user])
        options.userAuthMethod = .endpoint(backend + "/user-auth", parameters: ["user_id": user])
        return options
    }

    /// Stays in the room until the task is cancelled. The client reconnects if it loses the connection.
    ///
    /// - Throws: An error if the backend does not authorize the user, or if the client stops.
    package func run() async throws {
        defer { state.isInside = false }
        // Connects, and disconnects at the end of the closure. If the client stops, it cancels the closure.
        try await pusher.withConnection { _ in
            // Each call waits for the server's answer, and throws its refusal. The subscriptions began in `init`.
            try await pusher.signedIn()
            try await room.subscribed()
            try await announcements.subscribed()
            state.isInside = true
            // Keeps the connection open until the closure is cancelled.
            for await _ in pusher.statuses {}
        }
    }

    /// Binds callbacks, like `bind` in pusher-js. A callback stays bound until its observation is released.
    private func observeEvents() -> [EventObservation] {
        let main = MainActor.shared
        let showPeople: @MainActor (PusherEvent) -> Void = { [weak self] _ in self?.showPeople() }
        return [
            room.observe(named: "client-message", as: Message.self, on: main) { [weak self] event in
                self?.add(event.value, from: event.userId ?? "somebody")
            },
            room.observe(named: "client-typing", on: main) { [weak self] event in
                if let user = event.userId { self?.showTyping(user) }
            },
            announcements.observe(named: "announcement", as: Message.self, on: main) { [weak self] event in
                self?.state.lines.append(.announcement(event.value.text))
            },
            room.observe(named: "pusher:subscription_succeeded", on: main, showPeople),
            room.observe(named: "pusher:member_added", on: main, showPeople),
            room.observe(named: "pusher:member_removed", on: main, showPeople),
            // The backend may also refuse the user after a reconnect.
            room.observe(named: "pusher:subscription_error", on: main) { [weak self] event in
                self?.state.lines.append(.announcement(event.subscriptionError?.message ?? "Refused"))
            },
        ]
    }

    /// Sends a message to everybody in the room.
    ///
    /// - Throws: `PusherClientError` if the message was not sent, for example because the connection was lost. In
    ///   contrast, `trigger` would queue the message.
    package func say(_ text: String) async throws {
        let message = Message(text: text)
        try await room.send("client-message", data: message)
        // The server does not send a client event back to its sender.
        add(message, from: room.myId ?? "me")
    }

    /// Shows the others that the user is typing. Call this method for each key. If the server's limit makes the event
    /// wait, the next event replaces it.
    package func userIsTyping() { room.sendLatest("client-typing", data: ["isTyping": true]) }

    private func add(_ message: Message, from sender: String) {
        state.typing.remove(sender)
        state.lines.append(.message(message.text, from: sender))
    }

    private func show(_ status: ConnectionStatus) {
        state.banner = status.banner
        // Without a connection, the members are not known.
        showPeople()
    }

    private func showPeople() {
        state.people = room.members.map(\.userId).sorted()
        state.typing.formIntersection(state.people)
    }

    /// Shows that somebody is typing, for three seconds from the last key.
    private func showTyping(_ user: String) {
        state.typing.insert(user)
        typingEnds[user]?.cancel()
        typingEnds[user] = Task { [weak self] in
            try? await Task.sleep(for: .seconds(3))
            if !Task.isCancelled { self?.state.typing.remove(user) }
        }
    }
}

/// A chat message. It contains only the text, because the server adds the sender.
struct Message: Codable, Sendable { var text: String }
