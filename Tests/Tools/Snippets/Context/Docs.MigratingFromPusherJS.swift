let pusher = Pusher(key: "app-key")
var channel: PusherChannel { pusher.subscribe("private-orders") }
struct Invoice: Decodable, Sendable { var total: Int }
