import Logging
import PusherClient
import PusherTestServer
import ServiceLifecycle

/// A server-side program that handles orders until it gets a signal to stop, and passes its client's statistics to
/// swift-metrics.
///
///     worker                      # three orders on a server of this process
///     worker APP-KEY CLUSTER      # the hosted service, until SIGTERM or Control-C
@main
enum Worker {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else { return try await demonstrate() }
        try await run(Pusher(key: arguments[1], options: PusherClientOptions(cluster: arguments[2])))
    }

    static func run(_ pusher: Pusher, limit: Int = .max) async throws {
        // Before this call, call MetricsSystem.bootstrap with your metrics backend, for example Prometheus.
        pusher.emitMetrics()
        let logger = Logger(label: "worker")
        let handler = OrderHandler(pusher, limit: limit, logger: logger)
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: pusher),
                    .init(service: handler, successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            )
        )
        try await group.run()
        logger.info("Stopped", metadata: ["messages": "\(pusher.statistics.messages.received)"])
    }

    private static func demonstrate() async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(key: server.access.key, options: PusherClientOptions(testing: server.access))
            async let worker: Void = run(pusher, limit: 3)
            try await server.waitForSubscription(to: "orders")
            for id in 1...3 { try server.publish(event: "created", data: #"{"id": \#(id)}"#, to: "orders") }
            try await worker
        }
    }
}

struct Order: Decodable, Sendable { let id: Int }

/// Handles one order after the other.
struct OrderHandler: Service {
    private let orders: DecodedValueSequence<Order>
    private let limit: Int
    private let logger: Logger

    init(_ pusher: Pusher, limit: Int, logger: Logger) {
        // The sequence exists before the client connects, so it gets every order.
        orders = pusher.subscribe("orders").values(named: "created", as: Order.self)
        self.limit = limit
        self.logger = logger
    }

    func run() async throws {
        for await order in orders.cancelOnGracefulShutdown().prefix(limit) {
            logger.info("Order handled", metadata: ["id": "\(order.id)"])
        }
    }
}
