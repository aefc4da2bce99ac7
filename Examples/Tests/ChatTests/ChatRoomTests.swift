import Chat
import PusherClient
import PusherTestServer
import Testing

/// The tests of an app. The tests run the real client against the test server in this process.
@MainActor
@Suite("A chat room", .timeLimit(.minutes(5)))
struct ChatRoomTests {
    @Test("people see each other, typing indicators, messages and announcements")
    func conversation() async throws {
        try await PusherTestServer.withServer { server in
            let (ada, ben) = (Person("ada", on: server), Person("ben", on: server))
            await ada.sees { $0.people == ["ada", "ben"] }
            await ben.sees { $0.people == ["ada", "ben"] }
            ben.room.userIsTyping()
            await ada.sees { $0.typing == ["ben"] }
            try await ben.room.say("Hello!")
            await ada.sees { $0.lines == [.message("Hello!", from: "ben")] && $0.typing.isEmpty }
            try await server.waitForSubscription(to: "private-encrypted-room", count: 2)
            try server.publish(event: "announcement", data: #"{"text": "Six."}"#, to: "private-encrypted-room")
            await ben.sees { $0.lines.last == .announcement("Six.") }
            ben.leave()
            await ada.sees { $0.people == ["ada"] }
        }
    }

    @Test("the backend authorizes a user whose client has the app's own options")
    func ownOptions() async throws {
        try await PusherTestServer.withServer { server in
            let endpoint = PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS)
            let options = ChatRoom.options(for: "ada", endpoint: endpoint, backend: server.url + "/pusher")
            let ada = Person("ada", on: server, options: options)
            await ada.sees { $0.people == ["ada"] }
            try await server.waitForSignIn(of: "ada")
            try await server.waitForSubscription(to: "private-encrypted-room")
        }
    }

    @Test("a lost connection shows a banner, and the client then gets announcements again")
    func lostConnection() async throws {
        try await PusherTestServer.withServer { server in
            let ada = Person("ada", on: server)
            await ada.sees { $0.people == ["ada"] && $0.banner == nil }
            server.dropConnections()
            await ada.sees { $0.people.isEmpty && $0.banner?.hasPrefix("No connection") == true }
            try await server.waitForSubscription(to: "private-encrypted-room")
            try server.publish(event: "announcement", data: #"{"text": "Back."}"#, to: "private-encrypted-room")
            await ada.sees { $0.banner == nil && $0.lines == [.announcement("Back.")] }
        }
    }

    @Test("a message during an outage is not sent, and the user stays in the room")
    func messageDuringOutage() async throws {
        try await PusherTestServer.withServer { server in
            let (ada, ben) = (Person("ada", on: server), Person("ben", on: server))
            await ada.sees { $0.people == ["ada", "ben"] }
            server.failConnections(with: .refused(status: 503))
            server.dropConnections()
            await ada.sees { $0.people.isEmpty }
            let error = await #expect(throws: PusherClientError.self) { try await ada.room.say("Is anybody there?") }
            #expect(error?.code == .notSubscribed)
            server.acceptConnections()
            await ada.sees { $0.people == ["ada", "ben"] && $0.lines.isEmpty }
            try await ada.room.say("I am back.")
            await ben.sees { $0.lines == [.message("I am back.", from: "ada")] }
        }
    }

    @Test("a user who is not authorized gets the backend's refusal")
    func forbidden() async throws {
        var options = PusherTestServer.Options()
        options.authorizeChannel = { _ in .refuse(status: 403) }
        try await PusherTestServer.withServer(options: options) { server in
            let ada = Person("ada", on: server)
            let error = try await #require(throws: SubscriptionError.self) { try await ada.waitForEnd() }
            #expect(error.httpStatus == 403)
            await ada.sees { $0.banner == "Not connected" && $0.lines.isEmpty }
        }
    }

    @Test("a user whom the backend authorizes later can enter the room again")
    func enterAgain() async throws {
        try await PusherTestServer.withServer { server in
            server.failAuthorizations(1, for: "presence-room", with: .status(403))
            let ada = Person("ada", on: server)
            await #expect(throws: SubscriptionError.self) { try await ada.waitForEnd() }
            let secondRun = Task { try await ada.room.run() }
            defer { secondRun.cancel() }
            try await server.waitForMember("ada", of: "presence-room")
        }
    }

    @Test(
        "a user who is not authorized after a reconnect gets the backend's refusal, and leaves the room",
        arguments: ["presence-room", "private-encrypted-room"]
    )
    func forbiddenAfterReconnect(channel: String) async throws {
        try await PusherTestServer.withServer { server in
            let ada = Person("ada", on: server)
            await ada.sees { $0.people == ["ada"] }
            server.failAuthorizations(for: channel, with: .status(403))
            server.dropConnections()
            let error = try await #require(throws: SubscriptionError.self) { try await ada.waitForEnd() }
            #expect(error.httpStatus == 403)
            #expect(error.channelName == channel)
            await ada.sees { $0.banner == "Not connected" && $0.people.isEmpty }
        }
    }

    @Test("a user who cannot sign in after a reconnect leaves the room")
    func signInFailsAfterReconnect() async throws {
        try await PusherTestServer.withServer { server in
            let ada = Person("ada", on: server)
            await ada.sees { $0.people == ["ada"] }
            server.failUserAuthentications(with: .status(403))
            server.dropConnections()
            let error = try await #require(throws: PusherClientError.self) { try await ada.waitForEnd() }
            #expect(error.code == .signInFailed)
        }
    }

    @Test("the client of a user whose access is revoked leaves the room and does not reconnect")
    func revoked() async throws {
        try await PusherTestServer.withServer { server in
            let ada = Person("ada", on: server)
            await ada.sees { $0.people == ["ada"] }
            try await server.waitForSignIn(of: "ada")
            server.terminateConnections(ofUser: "ada")
            // The end of the room proves that the client does not reconnect.
            let error = try await #require(throws: PusherClientError.self) { try await ada.waitForEnd() }
            // The server closes the connection with code 4009, which means that the client must not connect again.
            #expect(error.serverCode == 4009)
            await ada.sees { $0.banner?.hasPrefix("Connection refused") == true && $0.people.isEmpty }
        }
    }
}

/// A person in the room.
@MainActor
final class Person {
    let room: ChatRoom
    private let run: Task<Void, any Error>
    private let states: AsyncStream<ChatState>
    private let continuation: AsyncStream<ChatState>.Continuation
    private var lastState: ChatState

    init(_ user: String, on server: PusherTestServer, options: PusherClientOptions? = nil) {
        let options = options ?? PusherClientOptions(testing: server.access, userId: user)
        options.logLevel = .silent
        let room = ChatRoom("room", key: server.access.key, options: options)
        let (states, continuation) = AsyncStream.makeStream(of: ChatState.self)
        lastState = room.state
        room.onChange = { continuation.yield($0) }
        self.room = room
        self.states = states
        self.continuation = continuation
        run = Task {
            defer { continuation.finish() }
            try await room.run()
        }
    }

    deinit { run.cancel() }

    /// Waits until the person's state is as expected, now or after later changes. Fails if the room ends before, and
    /// after a minute.
    func sees(_ isExpected: (ChatState) -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
        if isExpected(lastState) { return }
        let timeout = Task { [continuation] in
            try await Task.sleep(for: .seconds(60))
            continuation.finish()
        }
        defer { timeout.cancel() }
        for await state in states {
            lastState = state
            if isExpected(state) { return }
        }
        run.cancel()
        let result = await run.result
        Issue.record(
            "Not seen. Last state: \(lastState). Result of the room: \(result).",
            sourceLocation: sourceLocation
        )
    }

    /// Makes the person leave the room.
    func leave() { run.cancel() }

    /// Waits until the person has left the room, and throws the reason.
    func waitForEnd() async throws { try await run.value }
}
