import Chat
import PusherClient
import PusherTestServer

/// Shows two people who chat on a server in this process. One person loses the connection, and reconnects. Then the
/// server revokes this person's access.
enum Demonstration {
    @MainActor
    static func run() async throws {
        try await PusherTestServer.withServer { server in
            let ada = join("ada", server)
            let ben = join("ben", server)
            try await untilBothAreThere(server)
            ada.room.userIsTyping()
            try await pause()
            try await ada.room.say("Hello, Ben!")
            try await pause()
            try server.publish(
                event: "announcement",
                data: #"{"text": "The room closes at six."}"#,
                to: "private-encrypted-lobby"
            )
            try await pause()
            for connection in try await server.waitForSignIn(of: "ben") {
                server.dropConnections(.socket(connection.socketID))
            }
            try await pause()
            try await untilBothAreThere(server)
            try await ben.room.say("Hi, Ada. My network was gone for a moment.")
            try await pause()
            server.terminateConnections(ofUser: "ben")
            _ = await ben.run.result
            ada.run.cancel()
            _ = await ada.run.result
        }
    }

    @MainActor
    private static func join(_ user: String, _ server: PusherTestServer) -> (room: ChatRoom, run: Task<Void, any Error>)
    {
        let endpoint = PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS)
        let options = ChatRoom.options(for: user, endpoint: endpoint, backend: server.url + "/pusher")
        options.retryPolicy = .delays([.seconds(2)])
        options.logLevel = .silent
        let room = ChatRoom("lobby", key: server.access.key, options: options)
        Screen(user).follow(room)
        return (room, Task { try await room.run() })
    }

    /// Waits until both people have subscribed to both channels. Before this, a message or an announcement would not
    /// reach everybody. During the pause, the screens show the new status and people.
    private static func untilBothAreThere(_ server: PusherTestServer) async throws {
        for channel in ["presence-lobby", "private-encrypted-lobby"] {
            try await server.waitForSubscription(to: channel, count: 2)
        }
        try await pause()
    }

    /// Waits long enough for the user to read a line.
    private static func pause() async throws { try await Task.sleep(for: .milliseconds(700)) }
}
