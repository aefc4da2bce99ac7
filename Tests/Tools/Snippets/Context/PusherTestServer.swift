import PusherClient
import PusherTestServer

struct MyApp {
    init(_ pusher: Pusher) {}
    init(host: String, port: Int, useTLS: Bool = false, key: String) {}
    init(server: PusherTestServer, authorizationURL: String) {}
    func start() {}
    func connect() {}
    func nextOrder() async -> Int? { nil }
}

let app = MyApp(Pusher(key: "app-key"))
let server = PusherTestServer()
