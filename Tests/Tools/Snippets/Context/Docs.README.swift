let pusher = Pusher(key: "app-key")
