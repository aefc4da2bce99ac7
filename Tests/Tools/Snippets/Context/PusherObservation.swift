import Foundation
import PusherClient
import PusherObservation
import PusherTestServer

let pusher = Pusher(key: "app-key")
let channel = pusher.subscribe("private-chat")
let presence = pusher.subscribeToPresenceChannel(channelName: "presence-room")

struct Price: Decodable, Sendable { var amount: Double }
