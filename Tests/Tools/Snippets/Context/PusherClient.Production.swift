var observation: EventObservation?
var orders: [String] = []
nonisolated func show(_ line: String) {}
var observations: [EventObservation] = []
