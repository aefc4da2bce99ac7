import Chat
import PusherClient
import PusherTestServer

/// Shows two people who chat on a server in this process. One person loses the connection, and reconnects.
enum Demonstration {
    static func run() async throws {
        try await PusherTestServer.withServer { server in
            let ada = await join("ada", server)
            let ben = await join("ben", server)
            for member in ["ada", "ben"] {
                try await server.waitForMember(member, of: "presence-lobby")
                try await server.waitForSubscription(to: "private-encrypted-lobby")
            }
            try await pause()
            await ada.room.userIsTyping()
            try await pause()
            try await ada.room.say("Hello, Ben!")
            try await pause()
            try server.publish(
                event: "announcement",
                data: #"{"text": "The room closes at six."}"#,
                to: "private-encrypted-lobby"
            )
            try await pause()
            server.dropConnections()
            try await pause()
            for member in ["ada", "ben"] { try await server.waitForMember(member, of: "presence-lobby") }
            try await pause()
            try await ben.room.say("Hi, Ada. My network was gone for a moment.")
            try await pause()
            server.terminateConnections(ofUser: "ben")
            if case .failure(let error) = await ben.run.result { print("[ben] ! \(error)") }
            ada.run.cancel()
            _ = await ada.run.result
        }
    }

    @MainActor
    private static func join(_ user: String, _ server: PusherTestServer) -> (room: ChatRoom, run: Task<Void, any Error>)
    {
        let endpoint = PusherEndpoint(host: server.host, port: server.port, useTLS: false)
        let options = ChatRoom.options(for: user, endpoint: endpoint, backend: server.httpURL + "/pusher")
        options.retryPolicy = .delays([.seconds(2)])
        options.logLevel = .silent
        let room = ChatRoom("lobby", key: server.options.application.key, options: options)
        Screen(user).follow(room)
        return (room, Task { try await room.run() })
    }

    /// Waits long enough for the user to read a line.
    private static func pause() async throws { try await Task.sleep(for: .milliseconds(700)) }
}
