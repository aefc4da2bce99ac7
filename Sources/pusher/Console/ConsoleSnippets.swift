import PusherTestServer

/// A snippet of code or settings that connects a client or a backend to the server.
struct ConsoleSnippet: Encodable, Sendable {
    let name: String
    let text: String

    static func all(for server: PusherTestServer) -> [ConsoleSnippet] {
        let application = server.options.application
        let (host, port) = (server.host, server.port)
        let key = application.key.quoted
        let javaScript = """
            import Pusher from "pusher-js";

            const pusher = new Pusher(\(key), {
              wsHost: \(host.quoted),
              wsPort: \(port),
              forceTLS: false,
              enabledTransports: ["ws"],
              cluster: "",
              channelAuthorization: { endpoint: "\(server.url)/pusher/auth" },
              userAuthentication: { endpoint: "\(server.url)/pusher/user-auth" },
            });
            pusher.subscribe("orders").bind("created", (data) => console.log(data));
            """
        let laravel = """
            # .env
            BROADCAST_CONNECTION=pusher
            PUSHER_APP_ID=\(application.id.quoted)
            PUSHER_APP_KEY=\(key)
            PUSHER_APP_SECRET=\(application.secret.quoted)
            PUSHER_ENCRYPTION_MASTER_KEY=\(server.options.encryptionMasterKey.quoted)
            PUSHER_HOST=\(host.quoted)
            PUSHER_PORT=\(port)
            PUSHER_SCHEME=http
            """
        let swift = """
            import PusherClient

            let endpoint = PusherEndpoint(host: \(host.quoted), port: \(port), useTLS: false)
            let options = PusherClientOptions(endpoint: endpoint)
            options.authMethod = .endpoint("\(server.url)/pusher/auth")
            let pusher = Pusher(key: \(key), options: options)
            let events = pusher.subscribe("orders").events(named: "created")
            try await pusher.connected()
            for await event in events { print(event.data ?? "") }
            """
        return [
            ConsoleSnippet(name: "pusher-js", text: javaScript), ConsoleSnippet(name: "Laravel", text: laravel),
            ConsoleSnippet(name: "Swift", text: swift),
        ]
    }
}

extension String {
    /// The text in quotes, in a form that JavaScript, Swift and `.env` files accept.
    fileprivate var quoted: String {
        "\"" + replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
