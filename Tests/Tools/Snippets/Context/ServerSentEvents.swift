import Foundation
import ServerSentEvents

struct Price: Decodable, Sendable {}
struct Chunk: Decodable, Sendable {}
struct Update: Decodable, Sendable { var isFinished = false }
struct Message: Codable, Sendable {}
struct Question: Encodable, Sendable {
    var model: String
    var messages: [Message]
    var stream: Bool
}
struct Call: Encodable, Sendable {}
struct Delta: Decodable { struct Text: Decodable { var text: String }; var delta: Text }
struct APIFailure: Error, Decodable {}
enum Piece: Sendable { case text(String) }
struct Tokens: Sendable { func current(refreshing: Bool) async throws -> String { "" } }
struct Store { var lastEventID = ""; func apply(_ data: String, lastEventID: String) throws {} }

let stream = EventStream("https://example.com/feed")
let request = EventStreamRequest("https://example.com/feed")
let question = Question(model: "", messages: [], stream: true)
let messages: [Message] = []
let call = Call()
let tokens = Tokens()
let store = Store()
let key = ""
func hideBanner() {}
func showBanner(_ text: String, countingDownTo: ContinuousClock.Instant? = nil) {}
