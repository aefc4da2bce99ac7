import EventSourceTestServer

var server: EventSourceTestServer { fatalError("Examples are compiled, and never run.") }

struct App {
    init(feed: String) {}
    func lines(_ count: Int) async -> [String] { [] }
}
let prices = AsyncStream<Int> { _ in }
