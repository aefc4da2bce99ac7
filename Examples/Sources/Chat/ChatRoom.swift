import PusherClient

/// A chat room, and the actions of a person in the room. The room is independent of the user interface, which shows
/// `state`.
///
/// Messages and typing indicators are client events on a presence channel. Announcements come from the backend on an
/// encrypted channel. The user signs in, so that the backend can end the user's connections.
@MainActor
package final class ChatRoom {
    /// The state to show. The room calls `onChange` after each change.
    package private(set) var state = ChatState() {
        didSet { if state != oldValue { onChange(state) } }
    }
    package var onChange: (ChatState) -> Void = { _ in }

    private let pusher: Pusher
    private let room: PusherPresenceChannel
    private let announcements: PusherChannel
    private var observations: [EventObservation] = []
    private var tasks: [Task<Void, Never>] = []
    private var typingEnds: [String: Task<Void, Never>] = [:]

    package init(_ name: String, key: String, options: PusherClientOptions) {
        pusher = Pusher(key: key, options: options)
        // Unlike `subscribe`, this method returns a channel with members.
        room = pusher.subscribeToPresenceChannel(channelName: "presence-\(name)")
        announcements = pusher.subscribe("private-encrypted-\(name)")
        // These callbacks correspond to `bind` in pusher-js. The client does not connect yet, so the callbacks miss no
        // event. A callback stays bound until its observation is released. The client skips data that it cannot decode
        // or decrypt, and reports such data in `pusher.errors` and in the log.
        observations = [
            room.observe(named: "client-message", as: Message.self, on: MainActor.shared) { [weak self] event in
                self?.addMessage(event.value.text, from: event.userId ?? "somebody")
            },
            room.observe(named: "client-typing", on: MainActor.shared) { [weak self] event in
                if let user = event.userId { self?.showTyping(user) }
            },
            announcements.observe(named: "announcement", as: Message.self, on: MainActor.shared) { [weak self] event in
                self?.state.lines.append(.announcement(event.value.text))
            },
        ]
        // The tasks are separate from `run`, because the status also changes before and after the closure in `run`.
        let statuses = pusher.statuses(every: .seconds(1))
        let memberships = room.memberships
        tasks = [
            Task { [weak self] in for await status in statuses { self?.show(status) } },
            Task { [weak self] in for await _ in memberships { self?.showPeople() } },
        ]
    }

    deinit { for task in tasks { task.cancel() } }

    /// The options of an app whose backend authorizes at BACKEND/auth and signs in at BACKEND/user-auth.
    package static func options(for user: String, endpoint: PusherEndpoint, backend: String) -> PusherClientOptions {
        let options = PusherClientOptions(endpoint: endpoint)
        // In this example, users choose their own ids. A real app sends a token that proves who the user is, instead of
        // `parameters`:
        // headersProvider: { _ in ["Authorization": "Bearer \(try await session.token())"] }
        options.authMethod = .endpoint(backend + "/auth", parameters: ["user_id": user])
        options.userAuthMethod = .endpoint(backend + "/user-auth", parameters: ["user_id": user])
        return options
    }

    /// Connects, and stays in the room until the task is cancelled. The client reconnects if it loses the connection.
    /// You can call the method again later, but only one call may run at a time.
    ///
    /// - Throws: An error if the backend refuses the user, now or after a reconnect, or if the client stops.
    package func run() async throws {
        // The task for statuses may run later, so the method itself shows the final status.
        defer { show(pusher.status) }
        do {
            // `withConnection` disconnects after the closure. If the client stops, for example because the server
            // refuses the connection, `withConnection` cancels the closure and throws the client's error.
            try await pusher.withConnection { _ in
                // The backend can refuse the user on each new connection.
                for await case .connected in pusher.statuses {
                    // Sign in like `signin()` of pusher-js, and wait. The client signs in again after each reconnect.
                    try await pusher.signedIn()
                    // These two calls only wait. The subscriptions began in `init`, and the client repeats them after
                    // each reconnect.
                    try await room.subscribed()
                    try await announcements.subscribed()
                }
            }
        } catch is CancellationError {}
    }

    /// Sends a message to everybody in the room.
    ///
    /// - Throws: `PusherClientError` if the message was not sent, for example because the connection was lost. In
    ///   contrast, `trigger` would queue the message.
    package func say(_ text: String) async throws {
        try await room.send("client-message", data: Message(text: text))
        // The server does not send a client event back to its sender.
        addMessage(text, from: room.myId ?? "me")
    }

    /// Shows the others that the user is typing. Call this method for each key. If the client has reached the limit for
    /// client events, it sends only the newest event later. Without a connection, it drops the event. A real app sends
    /// at most one event per second.
    package func userIsTyping() { room.sendLatest("client-typing", data: [String: String]()) }

    private func addMessage(_ text: String, from sender: String) {
        state.typing.remove(sender)
        state.lines.append(.message(text, from: sender))
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
            guard !Task.isCancelled else { return }
            self?.state.typing.remove(user)
            self?.typingEnds[user] = nil
        }
    }
}

/// The data of a message or an announcement. The data contains only the text, because the server adds the sender of a
/// message.
struct Message: Codable, Sendable { var text: String }
