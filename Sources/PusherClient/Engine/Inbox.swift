/// The messages of one read of one connection, until it is over. Only the event loop touches it.
final class Inbox {
    /// Messages on their way through the machine, and out of it.
    struct Batch {
        var events: [PusherEvent] = []
        /// For those at the front: to whom they go.
        var deliveries: [Delivery] = []
        /// What the messages had, in all.
        var bytes = 0

        /// Keeps memory for as many messages as there were, unless that is many more than there were now.
        mutating func removeAll() {
            let isWorthIt = events.capacity <= max(64, 4 * events.count)
            events.removeAll(keepingCapacity: isWorthIt)
            deliveries.removeAll(keepingCapacity: isWorthIt)
            bytes = 0
        }
    }

    enum Delivery {
        /// The machine has seen to it, without any effect.
        case none
        /// To whoever wants the events of all channels, and to the channel's, where there is one.
        case channel(PusherChannel?)
    }

    private var batch = Batch()

    /// A message came: any one, not only what is an event for the application.
    func append(_ event: PusherEvent, bytes: Int) {
        batch.events.append(event)
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

    var isEmpty: Bool { batch.events.isEmpty }
}
