import PusherClient

/// The examples of the article "Receiving events".
enum Receiving {
    struct Order: Decodable, Sendable { let id: Int }

    actor Store {
        private(set) var reloads = 0

        func reload(last duration: Duration) throws { reloads += 1 }
    }

    static func reloads(_ channel: PusherChannel, into store: Store) async throws {
        for await gap in channel.resubscriptions {
            try await store.reload(last: gap)
        }
    }

    static func orders(_ pusher: Pusher, show: @Sendable (Order) -> Void) async {
        await pusher.withChannel("orders") { channel in
            for await order in channel.values(named: "created", as: Order.self) { show(order) }
        }
    }

    /// Options for a backend that writes names in snake case, and dates as text.
    static func decoding() -> PusherClientOptions {
        let options = PusherClientOptions(cluster: "eu")
        options.decoding.keys = .convertFromSnakeCase
        options.decoding.dates = .iso8601
        return options
    }

    @MainActor
    final class Screen {
        private(set) var shown: [String] = []
        private var observation: EventObservation?

        func observe(_ channel: PusherChannel) {
            observation = channel.observe(named: "created", on: MainActor.shared) { [weak self] event in
                self?.show(event)
            }
        }

        private func show(_ event: PusherEvent) { shown.append(event.data ?? "") }
    }

    @MainActor
    final class OrderScreen {
        private(set) var list: [Order] = []
        private var observation: EventObservation?

        func observe(_ channel: PusherChannel) {
            observation = channel.observe(named: "created", as: Order.self, on: MainActor.shared) { [weak self] event in
                self?.list.append(event.value)
            }
        }
    }

    actor Journal {
        private var observation: EventObservation?
        private let line: @Sendable (String) -> Void

        init(_ line: @escaping @Sendable (String) -> Void) { self.line = line }

        func observe(_ channel: PusherChannel) {
            observation = channel.observe(named: "created") { [weak self] event in self?.write(event) }
        }

        private nonisolated func write(_ event: PusherEvent) { line(event.data ?? "") }
    }
}
