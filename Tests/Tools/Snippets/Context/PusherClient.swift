import Foundation
import PusherClient
import PusherTestServer

let pusher = Pusher(key: "app-key")
let channel = pusher.subscribe("private-orders")
let chat = pusher.subscribe("private-chat")
let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
let options = PusherClientOptions(cluster: "eu")
let server = PusherTestServer()

let appSecret = "secret"
let masterKey = ""
let key = ""
let token = ""
let host = ""
let port = 3128
let password = ""
let chain = ""
let tenant = ""
let roots = ""
let currentKey = ""
let reserveKey = ""
let currentPin = ""
let reservePin = ""
let endpoint = PusherEndpoint.pusher(cluster: "eu")
let authMethod = AuthMethod.noMethod
let secondMethod = AuthMethod.noMethod
let tls = TLSOptions()
let url = URL(fileURLWithPath: "/")
let error = PusherClientError(.tlsFailed, "")

struct Label: Sendable {
    var text: String?
}

struct Backend: Sendable {
    struct Answer: Sendable {
        var auth: String
        var channelData: String?
        var userData: String
    }
    func sign(socketID: String, channel: String) async throws -> Answer { throw CancellationError() }
    func sign(socketID: String, channel: String, _ done: @escaping @Sendable (String?) -> Void) {}
    func signIn(socketID: String) async throws -> Answer { throw CancellationError() }
}

let backend = Backend()
func isMember(_ channelName: String) async -> Bool { true }
func signature(for request: AuthorizationRequest) async throws -> String { "" }
func reloadPrices() {}
func showThatTheServerNeedsANewCertificate() {}

struct OrderShipped: Decodable, Sendable { var order: Order }
struct InvoicePaid: Decodable, Sendable {}
