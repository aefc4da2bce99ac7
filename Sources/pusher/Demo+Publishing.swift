import PusherClient
import PusherTestServer
import RealtimeHTTP
import RealtimeNetworking

struct Order: Codable, Sendable {
    var id: Int
    var item: String
}

/// The parts of the demo in which the backend publishes through the REST API.
extension Demo {
    func survivesLoss(_ pusher: Pusher) async throws {
        let channel = pusher.subscribe("orders")
        var orders = channel.values(named: "created", as: Order.self).makeAsyncIterator()
        var resubscriptions = channel.resubscriptions.makeAsyncIterator()

        try await pusher.connected()
        try await channel.subscribed()
        try timeline.note(.ada, "subscribed to \(channel.name)")
        for id in 1...eventCount { try await publish(Order(id: id, item: "coffee"), on: channel, receivedBy: &orders) }

        try timeline.note(.network, "cuts the connection")
        server.dropConnections()
        guard let gap = await resubscriptions.next() else {
            throw ExitMessage("Demo failed: the client did not subscribe again.")
        }
        let away = Int(gap.seconds * 1_000)
        try timeline.note(.ada, "subscribed to \(channel.name) again, after \(away) ms")
        for id in eventCount + 1...2 * eventCount {
            try await publish(Order(id: id, item: "tea"), on: channel, receivedBy: &orders)
        }
    }

    func survivesRotation(_ pusher: Pusher) async throws {
        let channel = pusher.subscribe("private-encrypted-orders")
        var orders = channel.values(named: "created", as: Order.self).makeAsyncIterator()
        try await channel.subscribed()
        try timeline.note(.ada, "subscribed to \(channel.name), with its key")
        try await publish(Order(id: 1, item: "gold"), on: channel, receivedBy: &orders)

        server.rotateEncryptionKey()
        try timeline.note(.server, "has a new master key, and does not notify clients")
        try await publish(Order(id: 2, item: "silver"), on: channel, receivedBy: &orders)
        let count = server.authorizationRequests.count { request in
            String(decoding: request.body, as: UTF8.self).contains(channel.name)
        }
        try timeline.note(
            .ada,
            "requested the key \(count) times: for the subscription, and after the change"
        )
    }

    /// Publishes an event, and waits until the client gets the event.
    private func publish(
        _ order: Order,
        on channel: PusherChannel,
        receivedBy orders: inout DecodedValueSequence<Order>.AsyncIterator
    ) async throws {
        let data = #"{"id":\#(order.id),"item":"\#(order.item)"}"#
        let signed = server.publishRequest(event: "created", data: data, to: [channel.name])
        let request = HTTPRequest(
            url: server.url + signed.pathAndQuery,
            method: "POST",
            headers: ["Content-Type": "application/json"],
            body: Array(signed.body.utf8),
            timeout: .seconds(10),
            maximumResponseSize: 65_536
        )
        let requester = PooledHTTPRequester(tls: TLSContextSource(TLSOptions()))
        let response = try await requester.response(to: request)
        guard response.status == 200 else {
            throw ExitMessage("Demo failed: the REST API answered \(response.status).")
        }
        let shown = signed.body.contains("ciphertext") ? "\(data), encrypted" : data
        try timeline.note(
            .backend,
            "POST /apps/\(server.options.application.id)/events: \(response.status)  \(shown)"
        )
        guard let received = await orders.next(), received.id == order.id else {
            throw ExitMessage("Demo failed: order \(order.id) did not arrive.")
        }
        try timeline.note(.ada, "got created: order \(received.id), \(received.item)")
    }
}
