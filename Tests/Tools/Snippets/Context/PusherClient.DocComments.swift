var observation: EventObservation?
var label = Label()
nonisolated func show(_ event: Any) {}
