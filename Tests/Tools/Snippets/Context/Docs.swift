import Dispatch
import Logging
import PusherClient

let myAuthority = ""
let myQueue = DispatchQueue(label: "events")
let myLogger = Logger(label: "app")

struct MyApp {
    init(_ pusher: Pusher) {}
    func stop() {}
}
