let pusher = Pusher(key: "app-key")
var channel: PusherChannel { pusher.subscribe("private-orders") }
