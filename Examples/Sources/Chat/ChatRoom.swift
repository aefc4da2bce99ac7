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
        // Both begin before the client connects, so that they miss nothing.
        let observations = observeEvents()
        let banner = Task { [statuses = pusher.statuses(every: .seconds(1))] in
            for await status in statuses where !Task.isCancelled { state.banner = status.banner }
        }
        defer {
            for observation in observations { observation.cancel() }
            banner.cancel()
            state.isInside = false
            state.banner = "You have left the room"
        }
        // Connects, and disconnects when the closure returns or throws.
        try await pusher.withConnection { _ in
            // The backend says who the user is.
            try await pusher.signedIn()
            try await room.subscribed()
            try await announcements.subscribed()
            state.isInside = true
            // There is nothing more to do here. This ends when the task is cancelled, or the connection ends for good.
            for await _ in pusher.statuses {}
        }
    }

    /// What `bind` is in pusher-js. The callbacks stay bound for as long as what `observe` returns is kept.
    private func observeEvents() -> [EventObservation] {
        let peopleChanges = ["pusher:subscription_succeeded", "pusher:member_added", "pusher:member_removed"]
        return [
            room.observe(named: "client-message", as: Message.self, on: .shared) { [weak self] message in
                self?.add(message.value, from: message.userId ?? "somebody")
            },
            room.observe(named: "client-typing", on: .shared) { [weak self] event in
                if let user = event.userId { self?.showTyping(user) }
            },
            announcements.observe(named: "announcement", as: Message.self, on: .shared) { [weak self] message in
                self?.add(message.value, from: "announcement")
            },
        ] + peopleChanges.map { name in room.observe(named: name, on: .shared) { [weak self] _ in self?.showPeople() } }
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

    /// Tells the others that the user is typing. Call it for each key: what the server's limit does not allow is dropped.
    package func userIsTyping() { room.sendLatest("client-typing", data: ["isTyping": true]) }

    private func add(_ message: Message, from sender: String) {
        state.typing.remove(sender)
        state.lines.append(.init(sender, message.text))
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

/// What is sent. Only the text: the server says who sent it.
struct Message: Codable, Sendable { var text: String }
