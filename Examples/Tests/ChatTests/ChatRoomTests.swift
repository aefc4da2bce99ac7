import Chat
import PusherClient
import PusherTestServer
import Testing

/// The tests of an app: the real client against a real server, without a network beyond this machine.
@MainActor
@Suite("A chat room")
struct ChatRoomTests {
    @Test("people see each other, what they type and what they say, and announcements")
    func conversation() async throws {
        try await PusherTestServer.withServer { server in
            let (ada, ben) = (Person("ada", on: server), Person("ben", on: server))
            try await ada.sees { $0.people == ["ada", "ben"] && $0.isInside }
            try await ben.sees { $0.isInside }
            ben.room.userIsTyping()
            try await ada.sees { $0.typing == ["ben"] }
            try await ben.room.say("Hello!")
            try await ada.sees { $0.lines == [.init("ben", "Hello!")] && $0.typing.isEmpty }
            try server.publish(event: "announcement", data: #"{"text": "Six."}"#, to: "private-encrypted-room")
            try await ben.sees { $0.lines.last == .init("announcement", "Six.") }
        }
    }

    @Test("a lost connection shows a banner, and the room is back when the server is")
    func lostConnection() async throws {
        try await PusherTestServer.withServer { server in
            let ada = Person("ada", on: server)
            try await ada.sees { $0.isInside && $0.banner == nil }
            server.dropConnections()
            try await ada.sees { $0.banner?.hasPrefix("No connection") == true }
            try await ada.sees { $0.banner == nil && $0.people == ["ada"] }
        }
    }

    @Test("who is not authorized gets the backend's refusal")
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

    @Test("a user whose access is revoked is out, and the client does not come back")
    func revoked() async throws {
        try await PusherTestServer.withServer { server in
            let ada = Person("ada", on: server)
            try await ada.sees { $0.isInside }
            server.terminateConnections(ofUser: "ada")
            let error = await #expect(throws: PusherClientError.self) { try await ada.end() }
            #expect(error?.serverCode == 4009)
            try await ada.sees { $0.banner == "You have left the room" }
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
        (self.room, self.states, run) = (room, states, Task { try await room.run() })
    }

    deinit { run.cancel() }

    /// Waits for a state.
    func sees(_ isExpected: (ChatState) -> Bool) async throws {
        if isExpected(room.state) { return }
        for await state in states where isExpected(state) { return }
    }

    /// Waits until the person has left.
    func end() async throws { try await run.value }
}
