import PusherServerAPI
import PusherTestServer

var api: PusherServerAPI { fatalError("Examples are compiled, and never run.") }

let socketID = "1.2"
let server = PusherTestServer()
struct User {
    var id: String
    var name: String
    func mayJoin(_ channel: String) -> Bool { true }
}
struct Request {
    var body: [UInt8]
    var headers: [String: String]
}
struct Response {
    var status: Int
    var contentType = ""
    var body = ""
}
