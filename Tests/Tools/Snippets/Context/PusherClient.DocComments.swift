var observation: EventObservation?
var label = Label()
nonisolated func show(_ event: Any) {}
nonisolated func show(_ message: Message, from user: String?) {}
struct Message: Decodable, Sendable { var text: String }
var banner = Label()
var request = URLRequest(url: URL(fileURLWithPath: "/"))
