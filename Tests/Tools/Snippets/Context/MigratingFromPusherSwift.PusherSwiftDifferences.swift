func add(_ order: Order) {}
nonisolated func show(_ line: String) {}
