import Observation
import PusherClient
import PusherObservation

/// The screen of a small shop: the newest orders, their total, who is watching, and a banner while there is no connection.
/// The view only shows it.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor @Observable
package final class DashboardModel {
    package struct Order: Decodable, Hashable, Identifiable, Sendable {
        package var id: Int
        package var amount: Int
    }

    package let connection: ObservableConnection
    package let room: ObservableRoom
    private let orders: RecentValues<Order>

    @ObservationIgnored private let pusher: Pusher
    @ObservationIgnored private let channel: PusherPresenceChannel

    package init(key: String, options: PusherClientOptions) {
        pusher = Pusher(key: key, options: options)
        channel = pusher.subscribeToPresenceChannel(channelName: "presence-dashboard")
        // The objects exist before the client connects, so they miss nothing.
        connection = ObservableConnection(pusher)
        room = ObservableRoom(channel)
        orders = RecentValues("created", as: Order.self, from: pusher.subscribe("orders"), limit: 50)
    }

    // MARK: What the view shows

    /// The newest order first.
    package var newestOrders: [Order] { orders.values.reversed() }

    package var total: Int { orders.values.reduce(0) { $0 + $1.amount } }

    /// For example `ada, ben are watching. ben is typing…`
    package var audience: String {
        let names = room.members.map(\.userId).joined(separator: ", ")
        let typing = room.typing.map { "\($0.userId) is typing…" }.joined(separator: " ")
        switch room.members.count {
        case 0: return ""
        case 1: return "\(names) is watching. \(typing)"
        default: return "\(names) are watching. \(typing)"
        }
    }

    // MARK: What the view does

    package func appear() { pusher.connect() }

    package func disappear() { pusher.disconnect() }

    /// Call this when the app comes to the foreground, or when the network changes.
    package func checkConnection() { pusher.checkConnection() }

    package func userIsTyping() { channel.sendLatest("client-typing", data: [String: String]()) }
}
