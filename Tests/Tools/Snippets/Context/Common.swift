// The declarations that the examples need.

func show(_ items: Any?...) {}

struct Order: Codable, Sendable { var id: Int }
struct Person: Codable, Sendable { var name: String }
struct Typing: Codable, Sendable { var user: String }

struct Session: Sendable {
    func token() async throws -> String { "token" }
}

let session = Session()
