extension PusherTestServer {
    /// The records of a server; see ``PusherTestServer/recordSequence``.
    public struct RecordSequence: AsyncSequence, Sendable {
        /// The type of the elements.
        public typealias Element = Record

        let engine: ServerEngine

        /// Makes an iterator that begins with the oldest kept record.
        public func makeAsyncIterator() -> Iterator { Iterator(engine: engine) }

        /// An iterator that reads the records one by one.
        public struct Iterator: AsyncIteratorProtocol {
            let engine: ServerEngine
            var index = 0

            /// Waits for the next record and returns it. Returns nil after the task is cancelled.
            public mutating func next() async -> Record? {
                let start = index
                let record = try? await engine.wait(timeout: nil, for: "a record") { engine.record(from: start) }
                if let record { index = record.index + 1 }
                return record
            }
        }
    }
}
