import ArgumentParser
import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import PusherClient
import PusherTestServer

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch a client and the embedded server at work.",
        discussion: """
            Starts the embedded server on a free port of 127.0.0.1, connects a client to it over a real socket, \
            subscribes to a channel, and publishes events through the server's REST API. Then it cuts the connection, \
            and shows how the client notices, connects and subscribes again, and how long the channel was away.

            Each line has the time since the start, who it is about, and what happened. The exit code is 0 when every \
            event arrived.
            """
    )

    @Option(help: "How many events to publish before and after the loss (1 to 100).")
    var events = 3

    func validate() throws {
        guard (1...100).contains(events) else { throw ValidationError("--events takes a number from 1 to 100.") }
    }

    func run() async throws {
        try await PusherTestServer.withServer { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Demo(server: server, eventCount: events).run() }
                group.addTask {
                    try await Task.sleep(for: .seconds(60))
                    throw ExitMessage("The demo did not come to its end within a minute.")
                }
                try await group.next()
                group.cancelAll()
            }
        }
    }
}

/// An error that is only a text.
struct ExitMessage: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

private struct Order: Codable, Sendable {
    var id: Int
    var item: String
}

private struct Demo: Sendable {
    let server: PusherTestServer
    let eventCount: Int
    let timeline = Timeline()

    func run() async throws {
        timeline.note(.server, "listens on \(server.host):\(server.port)")
        let pusher = Pusher(
            key: server.options.application.key,
            options: PusherClientOptions(
                host: .host(server.host),
                port: server.port,
                useTLS: false,
                retryPolicy: .exponential(base: .seconds(1), cap: .seconds(5)),
                // The timeline tells it.
                logger: Logger(label: "demo") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            let statuses = pusher.statuses
            group.addTask {
                for await status in statuses { timeline.note(.client, describe(status)) }
            }
            try await demonstrate(pusher)
            group.cancelAll()
        }
        timeline.note(.client, "done: \(2 * eventCount) of \(2 * eventCount) events arrived")
    }

    private func demonstrate(_ pusher: Pusher) async throws {
        let channel = pusher.subscribe("orders")
        var orders = channel.events(named: "created", as: Order.self).makeAsyncIterator()
        var resubscriptions = channel.resubscriptions.makeAsyncIterator()

        try await pusher.connected()
        try await channel.subscribed()
        timeline.note(.channel, "subscribed to \(channel.name)")
        for id in 1...eventCount { try await publish(Order(id: id, item: "coffee"), receivedBy: &orders) }

        timeline.note(.network, "the connection is cut")
        server.dropConnections()
        guard let resubscription = await resubscriptions.next() else {
            throw ExitMessage("The channel was not subscribed again.")
        }
        let away = Int(resubscription.away.seconds * 1_000)
        timeline.note(.channel, "subscribed to \(channel.name) again; it was away for \(away) ms")
        for id in eventCount + 1...2 * eventCount {
            try await publish(Order(id: id, item: "tea"), receivedBy: &orders)
        }
        await pusher.disconnected()
    }

    /// Publishes through the REST API, as a backend does, and waits for the event.
    private func publish(
        _ order: Order,
        receivedBy orders: inout DecodedEventSequence<Order>.AsyncIterator
    ) async throws {
        let data = #"{"id":\#(order.id),"item":"\#(order.item)"}"#
        let signed = server.publishRequest(event: "created", data: data, to: ["orders"])
        var request = HTTPClientRequest(url: server.httpURL + signed.pathAndQuery)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: signed.body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        guard response.status == .ok else {
            throw ExitMessage("The REST API answered \(response.status).")
        }
        timeline.note(
            .publisher,
            "POST /apps/\(server.options.application.id)/events: \(response.status.code)  \(data)"
        )
        guard let received = await orders.next(), received.id == order.id else {
            throw ExitMessage("Order \(order.id) did not arrive.")
        }
        timeline.note(.channel, "created: order \(received.id), \(received.item)")
    }

    private func describe(_ status: ConnectionStatus) -> String {
        switch status {
        case .initialized: "has not connected yet"
        case .connecting: "connects"
        case .connected(let socketID): "is connected; its socket id is \(socketID)"
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
