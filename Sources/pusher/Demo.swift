import Logging
import PusherClient
import PusherEncryption
import PusherTestServer

/// The demonstration, with two users of a chat and their backend.
struct Demo: Sendable {
    let server: PusherTestServer
    let eventCount: Int
    /// The network that blocks WebSockets; nil if no network blocks them.
    var relay: PusherTestRelay?
    var timeline = Timeline()

    func run() async throws {
        try timeline.note(.server, "listens on \(server.host):\(server.port), and authorizes at /pusher/auth")
        if relay != nil { try timeline.note(.network, "swallows each request for a WebSocket") }
        let (ada, bob) = (makeClient(of: "ada"), makeClient(of: "bob"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (pusher, who) in [(ada, Timeline.Who.ada), (bob, .bob)] {
                let statuses = pusher.statuses
                group.addTask {
                    for await status in statuses {
                        try timeline.note(who, describe(status))
                        if case .connected = status { try noteTransport(of: pusher, who) }
                    }
                }
            }
            try timeline.title("A public channel, and a lost connection")
            try await survivesLoss(ada)
            try timeline.title("A presence channel, and its members")
            let room = try await meet(ada, bob)
            try timeline.title("A private channel, and client events")
            try await talk(ada, bob)
            if SecretBox.isAvailable {
                try timeline.title("An encrypted channel, and a new key")
                try await survivesRotation(ada)
            }
            try timeline.title("A member leaves")
            try await leave(bob, seenIn: room)
            await ada.disconnected()
            group.cancelAll()
        }
        try timeline.note(.demo, "done: everything arrived")
    }

    private func makeClient(of user: String) -> Pusher {
        let backend = AuthEndpoint(server.url + "/pusher/auth", parameters: ["user_id": user])
        let options = PusherClientOptions(
            endpoint: PusherEndpoint(host: relay?.host ?? server.host, port: relay?.port ?? server.port, useTLS: false)
        )
        options.transports = relay == nil ? .webSocket : .webSocketWithHTTPFallback
        options.authMethod = .endpoint(backend)
        options.retryPolicy = .exponential(base: .seconds(1), cap: .seconds(5))
        // The client does not log, because the timeline prints the same events.
        options.logger = Logger(label: "demo") { _ in SwiftLogNoOpLogHandler() }
        return Pusher(key: server.options.application.key, options: options)
    }

    private func noteTransport(of pusher: Pusher, _ who: Timeline.Who) throws {
        guard relay != nil else { return }
        let statistics = pusher.statistics.connections
        guard let transport = statistics.transport else { return }
        let reasons = statistics.unusedTransports.map { "; not by \($0): \($1.message)" }.sorted()
        try timeline.note(who, "is connected by \(transport)\(reasons.joined())")
    }

    private func describe(_ status: ConnectionStatus) -> String {
        switch status {
        case .initialized: "has not connected yet"
        case .connecting: "connects"
        case .connected(let socketID): "is connected; the socket id is \(socketID)"
        case .unavailable: "is still trying to connect"
        case .waiting(let until, let attempt, let reason):
            "tries again in \(milliseconds(until: until)) ms (attempt \(attempt)): \(reason.message)"
        case .refused(let error): "is refused: \(error.message)"
        case .disconnecting: "disconnects"
        case .disconnected: "is disconnected"
        }
    }

    private func milliseconds(until instant: ContinuousClock.Instant) -> Int {
        max(Int((instant - .now).seconds * 1_000), 0)
    }
}

/// An error that consists of a message.
struct ExitMessage: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
