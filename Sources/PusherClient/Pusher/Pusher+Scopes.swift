import NIOConcurrencyHelpers
import RealtimePrimitives

extension Pusher {
    /// Connects, runs `body`, and disconnects, even if `body` throws.
    ///
    /// ```swift
    /// let events = pusher.subscribe("orders").events
    /// try await pusher.withConnection { socketID in
    ///     for await event in events { print(event) }
    /// }
    /// ```
    ///
    /// The client reconnects automatically while `body` runs. If the client stops, for example because the server
    /// refuses it, the method cancels `body`. Sequences of events then end, and waiting calls throw. When `body` has
    /// ended, this method throws the connection's error, even if `body` returned a value.
    ///
    /// If the caller's task is cancelled before the client is connected, the method throws `CancellationError`. If the
    /// task is cancelled later, the method cancels `body`, and returns the value of `body` or throws its error.
    ///
    /// If your code calls ``disconnect()``, `body` is also cancelled, as soon as the connection is closed. In this
    /// case, the method returns the value of `body`, or throws its error. To continue with another user or another
    /// server, call ``reconnectNow()`` or ``switchTo(endpoint:key:authMethod:userAuthMethod:)`` instead.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor, on which `body` runs. Leave it out.
    ///   - body: The work, which gets the socket id. The work runs in a separate task.
    /// - Returns: The value that `body` returns.
    /// - Throws: The errors of ``connected(timeout:)``, before `body` runs. Afterwards, the first of two errors: the
    ///   error with which the client stopped, or the error of `body`. If ``disconnect()`` ended `body`, a
    ///   ``PusherClientError`` with the code ``PusherClientError/Code/disconnected`` replaces a `CancellationError`.
    public func withConnection<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (String) async throws -> Result
    ) async throws -> Result {
        do {
            let socketID = try await connected()
            let result = try await untilConnectionEnds { try await body(socketID) }
            await disconnected()
            return result
        } catch {
            await disconnected()
            throw error
        }
    }

    /// The reason why ``withConnection(isolation:_:)`` returns.
    private enum End {
        /// The work has returned.
        case work
        /// The caller's task was cancelled.
        case cancellation
        /// The client has stopped, because of an error or because of `disconnect()`.
        case connection(PusherClientError?)
    }

    private func untilConnectionEnds<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        try await withoutActuallyEscaping(body) { body in
            let firstEnd = FirstEnd()
            var outcome: Result<Value, any Error>?
            // Swift can cancel only a whole task, so the work has a separate task. This task runs on the caller's
            // actor, because the work may use the actor's state. The caller waits for the task.
            let work = Task {
                _ = isolation
                do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
                firstEnd.note(.work)
            }
            let watch = Task { [engine] in
                do {
                    _ = try await engine.wait { machine, waiter, _, effects in
                        machine.awaitEnd(waiter, into: &effects)
                    }
                    firstEnd.note(.connection(nil))
                } catch let error as PusherClientError {
                    firstEnd.note(.connection(error))
                } catch {
                    return
                }
                work.cancel()
            }
            await withCancellationHandler {
                await work.value
            } onCancel: {
                firstEnd.note(.cancellation)
                work.cancel()
            }
            watch.cancel()
            await watch.value
            guard let outcome else { throw CancellationError() }
            switch firstEnd.value {
            case .connection(let error?): throw error
            case .connection(nil):
                if case .failure(let error) = outcome, error is CancellationError {
                    throw PusherClientError(.disconnected, "Disconnected: disconnect() was called.")
                }
                return try outcome.get()
            case .work, .cancellation, nil: return try outcome.get()
            }
        }
    }

    private final class FirstEnd: Sendable {
        private let end = NIOLockedValueBox<End?>(nil)

        var value: End? { end.withLockedValue { $0 } }

        func note(_ new: End) { end.withLockedValue { end in if end == nil { end = new } } }
    }

    /// Subscribes to a channel while `body` runs. Several parts of an app may use one channel at once. The client
    /// unsubscribes when the last `body` has ended.
    ///
    /// ```swift
    /// await pusher.withChannel("orders") { channel in
    ///     for await order in channel.events(named: "created", as: Order.self) { show(order) }
    /// }
    /// ```
    ///
    /// The work begins at once, so that it misses no event. To wait for the server's answer, and to learn of a refusal,
    /// call ``PusherChannel/subscribed(timeout:)`` in `body`. If the app has also called
    /// ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``, the channel stays subscribed
    /// afterwards. ``unsubscribe(_:)`` unsubscribes the channel for all parts of the app, and their sequences end.
    ///
    /// - Parameters:
    ///   - channelName: The name of the channel.
    ///   - body: The work. It gets the channel, which is a ``PusherPresenceChannel`` if the name begins with
    ///     `presence-`.
    /// - Returns: The value that `body` returns.
    /// - Throws: The error that `body` throws.
    @discardableResult
    public func withChannel<Result>(
        _ channelName: String,
        _ body: (PusherChannel) async throws -> Result
    ) async rethrows -> Result {
        let engine = engine
        let (channel, isNew) = engine.step { state, now in
            let result = state.machine.subscribe(channelName, isLease: true, now: now, into: &state.pending)
            return state.channel(of: result) {
                Self.makeChannel(channelName, result.id, engine, fault: result.error)
            }
        }
        if !isNew { engine.holdEvents(again: channel) }
        if channel.fault != nil { channel.retire() }
        defer {
            engine.step { state, now in
                state.machine.endLease(of: channelName, channel.id, now: now, into: &state.pending)
            }
        }
        return try await body(channel)
    }
}
