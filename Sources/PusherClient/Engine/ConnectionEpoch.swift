import Atomics

/// The number of times that the app has ended a connection: with `disconnect()`, with another connection, or by
/// releasing the client.
///
/// Each event belongs to the epoch in which it arrived. Callbacks of an earlier epoch do not begin. So after a call has
/// ended the connection in a callback, the next callbacks are those of the next connection.
final class ConnectionEpoch: Sendable {
    private let latest = ManagedAtomic(0)
    private let delivered = ManagedAtomic(0)

    /// The epoch of the events that the event loop delivers. It is older than the latest epoch until the event loop has
    /// carried out the effects of the app's call.
    var ofDelivery: Int { delivered.load(ordering: .relaxed) }

    /// Returns whether callbacks of this epoch may begin.
    func isLatest(_ epoch: Int) -> Bool { epoch == latest.load(ordering: .acquiring) }

    /// Begins an epoch, and returns its number. Call this method within the transition that ends the connection.
    func begin() -> Int { latest.wrappingIncrementThenLoad(ordering: .releasing) }

    /// Notes that later events belong to this epoch. Call this method on the event loop.
    func deliver(_ epoch: Int) { delivered.store(epoch, ordering: .relaxed) }
}
