/// The data of an unfinished event, in pieces. A single array would be copied repeatedly while it grows to the size of
/// a large event.
struct EventData: Sendable {
    private static let pieceSize = 1 << 20

    private var full: [[UInt8]] = []
    private var last: [UInt8] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        count += bytes.count
        if last.count + bytes.count > Self.pieceSize, !last.isEmpty {
            full.append(last)
            last = []
            last.reserveCapacity(max(Self.pieceSize, bytes.count))
        }
        last += bytes
    }

    mutating func append(_ byte: UInt8) {
        count += 1
        last.append(byte)
    }

    /// Returns the text without the last byte, and clears the data.
    mutating func takeText() -> String {
        guard !full.isEmpty else {
            let text = String(decoding: last.dropLast(), as: UTF8.self)
            // The memory for one large event must not stay allocated for all later events.
            last.removeAll(keepingCapacity: last.capacity <= 1 << 16)
            count = 0
            return text
        }
        let text = String(unsafeUninitializedCapacity: count) { memory in
            let memory = UnsafeMutableRawBufferPointer(memory)
            var end = 0
            for piece in full + [last] {
                UnsafeMutableRawBufferPointer(rebasing: memory[end...]).copyBytes(from: piece)
                end += piece.count
            }
            return end - 1
        }
        self = EventData()
        return text
    }
}
