import NIOConcurrencyHelpers
import PusherClient

/// An app that shows a banner and a list.
@MainActor
final class MyApp {
    enum Banner { case none, connecting, reconnecting }

    private(set) var banner = Banner.none
    private(set) var orders: [String] = []
    private let pusher: Pusher
    private var work: [Task<Void, Never>] = []

    init(_ pusher: Pusher) {
        self.pusher = pusher
        let channel = pusher.subscribe("orders")
        work.append(Task { [weak self] in for await status in pusher.statuses { self?.show(status) } })
        work.append(Task { [weak self] in for await event in channel.events(named: "created") { self?.show(event) } })
        pusher.connect()
    }

    deinit { for task in work { task.cancel() } }

    private func show(_ status: ConnectionStatus) {
        banner =
            switch status {
            case .connected, .initialized: .none
            case .connecting: .connecting
            default: .reconnecting
            }
    }

    private func show(_ event: PusherEvent) { orders.append(event.data ?? "") }
}

/// The values that several threads have added.
final class Seen<Element: Sendable>: Sendable {
    private let values = NIOLockedValueBox<[Element]>([])

    var all: [Element] { values.withLockedValue { $0 } }

    func add(_ value: Element) { values.withLockedValue { $0.append(value) } }
}
