import PusherProtocol

/// The messages of one read of one connection, until it is over. Only the event loop touches it.
final class Inbox {
    /// Messages on their way through the machine.
    struct Batch {
        var messages: [Envelope] = []
        /// The ordinary events, which changed nothing and had no effect: the index of each, and its channel, if it has one.
        var deliveries: [(index: Int, channel: PusherChannel?)] = []
        /// What the messages had, in all.
        var bytes = 0

        /// Keeps memory for as many messages as there were, unless that is many more than there were now.
        mutating func removeAll() {
            let isWorthIt = messages.capacity <= max(64, 4 * messages.count)
            messages.removeAll(keepingCapacity: isWorthIt)
            deliveries.removeAll(keepingCapacity: isWorthIt)
            bytes = 0
        }
    }

    private var batch = Batch()
    private var text = UnescapedText()

    /// Decodes a text that the transport has checked to be valid UTF-8.
    func decode(_ bytes: Span<UInt8>) throws(EnvelopeError) -> Envelope {
        guard let message = PlainMessage(scanning: bytes, unescapingInto: &text) else {
            return try Envelope(decoding: bytes)
        }
        return message.envelope(of: bytes, text)
    }

    /// Releases the memory for decoding. An idle connection needs no such memory.
    func releaseMemory() { text.releaseMemory() }

    func append(_ message: consuming Envelope, bytes: Int) {
        batch.messages.append(message)
        batch.bytes += bytes
    }

    /// Takes the messages out, and leaves nothing.
    func take() -> Batch {
        var taken = Batch()
        swap(&taken, &batch)
        return taken
    }

    /// Takes back what was taken, for its memory. In place: a copy of it would be all there is to recycle.
    func recycle(_ batch: inout Batch) {
        batch.removeAll()
        if isEmpty { swap(&batch, &self.batch) }
    }

    var isEmpty: Bool { batch.messages.isEmpty }
}
