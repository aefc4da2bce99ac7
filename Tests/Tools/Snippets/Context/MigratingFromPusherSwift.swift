import PusherClient

let pusher = Pusher(key: "app-key")
let channel = pusher.subscribe("orders")
let orders = channel.values(named: "created", as: Order.self)
struct Message: Codable, Sendable { var text: String }

struct Backend: Sendable {
    func signature(_ socketID: String, _ channel: String) async throws -> String { "" }
}

let backend = Backend()
let token = "123"
func sign(_ socketID: String, _ channel: String, _ done: @escaping @Sendable (String?) -> Void) {}

extension PageMigratingFromPusherSwift: @preconcurrency PusherDelegate {}
