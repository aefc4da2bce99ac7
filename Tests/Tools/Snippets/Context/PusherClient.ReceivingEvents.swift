var observation: EventObservation?
var list: [Order] = []
nonisolated func show(_ event: Any) {}
nonisolated func write(_ event: PusherEvent) {}
struct Store { func reload(last: Duration) async throws {} }
let store = Store()
