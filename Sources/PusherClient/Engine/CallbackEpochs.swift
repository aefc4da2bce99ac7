import Atomics

/// The numbers of times that the app has ended a connection (with `disconnect()`, with another connection, or by
/// releasing the client), and that it has signed the user out.
///
/// Each event belongs to the epoch in which it arrived, and its callbacks begin only in this epoch. So after a call in a
/// callback has ended the connection, the next events are those of the next connection.
final class CallbackEpochs: Sendable {
    struct Epoch: Sendable {
        var connection = 0
        var user = 0
    }

    private let connection = ManagedAtomic(0)
    private let user = ManagedAtomic(0)
    private let deliveredConnection = ManagedAtomic(0)
    private let deliveredUser = ManagedAtomic(0)

    /// The epoch of the events that the event loop delivers. It is older than the latest epoch until the event loop has
    /// carried out the effects of the app's call. Call this property on the event loop.
    var ofDelivery: Epoch {
        Epoch(
            connection: deliveredConnection.load(ordering: .relaxed),
            user: deliveredUser.load(ordering: .relaxed)
        )
    }

    /// Returns whether callbacks for an event of this epoch may begin.
    ///
    /// - Parameter isForUser: Whether the event is for the signed-in user.
    @inline(__always)
    func isLatest(_ epoch: Epoch, isForUser: Bool = false) -> Bool {
        epoch.connection == connection.load(ordering: .acquiring)
            && (!isForUser || epoch.user == user.load(ordering: .acquiring))
    }

    /// The two ways to begin an epoch.
    enum Beginning {
        case endOfConnection
        case signOut
    }

    /// Begins an epoch. Call this method within the transition of the app's call.
    func begin(_ beginning: Beginning) -> Epoch {
        switch beginning {
        case .endOfConnection: connection.wrappingIncrement(ordering: .releasing)
        case .signOut: user.wrappingIncrement(ordering: .releasing)
        }
        return Epoch(connection: connection.load(ordering: .relaxed), user: user.load(ordering: .relaxed))
    }

    /// Notes that later events belong to this epoch. Call this method on the event loop.
    ///
    /// - Returns: Whether the connection has ended since the previous epoch.
    func deliver(_ epoch: Epoch) -> Bool {
        deliveredUser.store(epoch.user, ordering: .relaxed)
        return deliveredConnection.exchange(epoch.connection, ordering: .relaxed) != epoch.connection
    }
}
