import PusherClient
import PusherTestServer
import PusherVirtualTime

@MainActor final class MyApp {
    enum Banner { case none, reconnecting }

    let banner = Banner.none
    let orders: [String] = []

    init(_ pusher: Pusher) {}
}

actor Store {
    var count = 0
}

let store = Store()
let server = PusherTestServer()
let clock = ContinuousClock()
