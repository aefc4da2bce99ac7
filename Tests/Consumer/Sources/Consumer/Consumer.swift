import EventSourceTestServer
import Foundation
import MainActorApp
import PusherServerAPI
import PusherTestServer
import ServerSentEvents
import SignalRTestServer
import Swift5App
import Swift6App
import WebSocketClient

/// Runs an app of each kind against the embedded servers. Each app receives an event, calls a hub and follows a feed.
/// The program also uses the server API, a WebSocket and an event stream without an app.
@main
struct Consumer {
    static func main() async throws {
        try await PusherTestServer.withServer { server in
            let key = server.options.application.key
            let (host, port) = (server.host, server.port)

            async let swift5 = inSwift5Mode(key: key, host: host, port: port)
            async let swift6 = Swift6App(key: key, host: host, port: port).firstOrder()
            async let mainActor = Screen(key: key, host: host, port: port).show()

            try await server.waitForSubscription(to: "private-orders", count: 3)
            try server.publish(event: "created", data: #"{"id":7}"#, to: "private-orders")
            let api = try PusherServerAPI(
                application: .init(
                    id: server.options.application.id,
                    key: key,
                    secret: server.options.application.secret
                ),
                endpoint: .init(host: host, port: port, useTLS: server.usesTLS)
            )
            print("The backend sees \(try await api.channels().keys.sorted())")
            print("Swift 5 mode received \(await swift5)")
            print("Swift 6 mode received \(try await swift6.map(String.init) ?? "nothing")")
            print("The main actor received \(try await mainActor)")

            let webSocket = try await WebSocket.connect(to: "ws://\(host):\(port)/app/\(key)?protocol=7")
            for try await message in webSocket.messages.prefix(1) { print("The WebSocket received \(message)") }
            try await webSocket.closed()
        }
        try await EventSourceTestServer.withServer { server in
            server.script([.open("data: an event\n\n")])
            for try await event in EventStream(server.url).events.prefix(1) {
                print("The stream received \(event.data)")
            }
            try await chat(feed: server)
        }
    }

    private static func chat(feed: EventSourceTestServer) async throws {
        feed.script([.text("data: {\"amount\": 40}\n\ndata: {\"amount\": 2}\n\n")], at: "/prices")
        let prices = feed.url + "/prices"
        let hub = try await SignalRTestServer.start()
        hub.on("Greet") { (_, name: String) in "Hello, \(name)!" }
        hub.on("Announce") { (call) in try call.send("Announce", "news") }

        print("Swift 5 mode received", try await inSwift5Mode(hub: hub.url, feed: prices))
        let swift6 = Swift6Chat(hub: hub.url, feed: prices)
        print("Swift 6 mode received \(try await swift6.sayHello()) and \(try await swift6.total())")
        let screen = await ChatScreen(hub: hub.url, feed: prices)
        print("The main actor received \(try await screen.sayHello()) and \(try await screen.lines())")
        print("The retry policies of one file wait for \(Swift6Retries().firstWaits())")
        await hub.shutdown()
    }

    @MainActor
    private static func inSwift5Mode(hub: String, feed: String) async throws -> [String] {
        guard let url = URL(string: feed) else { return [] }
        let chat = Swift5Chat(hub: hub, feed: url)
        let answer = try await chat.sayHello()
        let lines = await withCheckedContinuation { continuation in
            chat.follow { continuation.resume(returning: $0) }
        }
        return withExtendedLifetime(chat) { [answer] + lines }
    }

    @MainActor
    private static func inSwift5Mode(key: String, host: String, port: Int) async -> String {
        let app = Swift5App(key: key, host: host, port: port)
        let text = await withCheckedContinuation { continuation in
            app.start { continuation.resume(returning: $0) }
        }
        return withExtendedLifetime(app) { text }
    }
}
