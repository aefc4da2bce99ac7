import Chat
import PusherClient
import PusherTestServer
import Testing

/// The tests of an app. They run the real client against a real server on this machine.
@MainActor
@Suite("A chat room", .timeLimit(.minutes(5)))
struct ChatRoomTests {
    @Test("people see each other, typing indicators, messages and announcements")
    func conversation() async throws {
        try await PusherTestServer.withServer { server in
            let (ada, ben) = (Person("ada", on: server), Person("ben", on: server))
            try await ada.sees { $0.people == ["ada", "ben"] && $0.isInside }
            try await ben.sees { $0.isInside }
            ben.room.userIsTyping()
            try await ada.sees { $0.typing == ["ben"] }
            try await ben.room.say("Hello!")
            try await ada.sees { $0.lines == [.message("Hello!", from: "ben")] && $0.typing.isEmpty }
            try server.publish(event: "announcement", data: #"{"text": "Six."}"#, to: "private-encrypted-room")
            try await ben.sees { $0.lines.last == .announcement("Six.") }
        }
    }

    @Test("a lost connection shows a banner, and the client then gets announcements again")
    func lostConnection() async throws {
        try await PusherTestServer.withServer { server in
            let ada = Person("ada", on: server)
            try await ada.sees { $0.isInside && $0.banner == nil }
            server.dropConnections()
            try await ada.sees { $0.banner?.hasPrefix("No connection") == true }
            try await server.waitForSubscription(to: "private-encrypted-room")
            try server.publish(event: "announcement", data: #"{"text": "Back."}"#, to: "private-encrypted-room")
            try await ada.sees { $0.banner == nil && $0.lines == [.announcement("Back.")] }
        }
    }

    @Test("a user who is not authorized gets the backend's refusal")
    func forbidden() async throws {
        var options = PusherTestServer.Options()
        options.authorizeChannel = { _ in .refuse(status: 403) }
        try await PusherTestServer.withServer(options: options) { server in
            let error = try await #require(throws: SubscriptionError.self) {
                try await Person("ada", on: server).end()
            }
            #expect(error.httpStatus == 403)
        }
    }

    @Test("the client of a user whose access is revoked leaves the room and does not reconnect")
    func revoked() async throws {
        try await PusherTestServer.withServer { server in
            let ada = Person("ada", on: server)
            try await ada.sees { $0.isInside }
            server.terminateConnections(ofUser: "ada")
            let error = try await #require(throws: PusherClientError.self) { try await ada.end() }
            // The server closes the connection with 4009, so the client must not connect again.
            #expect(error.serverCode == 4009)
            try await ada.sees { $0.banner?.hasPrefix("Connection refused") == true && !$0.isInside }
            #expect(server.connections.isEmpty)
        }
    }
}

/// A person in the room.
@MainActor
final class Person {
    let room: ChatRoom
    private let run: Task<Void, any Error>
    private let states: AsyncStream<ChatState>

    init(_ user: String, on server: PusherTestServer) {
        let options = PusherClientOptions(testing: server.access, userId: user)
        options.logLevel = .silent
        let room = ChatRoom("room", key: server.access.key, options: options)
        let (states, continuation) = AsyncStream.makeStream(of: ChatState.self)
        room.onChange = { continuation.yield($0) }
        self.room = room
        self.states = states
        run = Task {
            defer { continuation.finish() }
            try await room.run()
        }
    }

    deinit { run.cancel() }

    /// Waits until the person's state is as expected.
    func sees(_ isExpected: (ChatState) -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        if isExpected(room.state) { return }
        for await state in states where isExpected(state) { return }
        Issue.record("The states ended before the expected state.", sourceLocation: sourceLocation)
    }

    /// Waits until the person has left.
    func end() async throws { try await run.value }
}
