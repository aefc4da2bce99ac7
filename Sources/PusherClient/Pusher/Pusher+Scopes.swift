import NIOConcurrencyHelpers

extension Pusher {
    /// Connects, runs `body`, and disconnects, also if `body` throws.
    ///
    /// ```swift
    /// let events = pusher.subscribe("orders").events
    /// try await pusher.withConnection { socketID in
    ///     for await event in events { print(event) }
    /// }
    /// ```
    ///
    /// The client reconnects automatically while `body` runs. If the connection ends for good, because the server
    /// refuses the client or the retry policy stops, `body` is cancelled: sequences of events end, and calls that wait
    /// throw. When `body` has returned, whatever its outcome, this method throws the connection's error.
    ///
    /// If your code calls ``disconnect()``, `body` is cancelled too as soon as the connection is closed, and its
    /// outcome counts. To continue with another user or another server, call ``reconnectNow()`` or
    /// ``switchTo(endpoint:key:authMethod:userAuthMethod:)`` instead.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor, on which `body` runs. Leave it out.
    ///   - body: The work, which gets the socket id. It runs in a task of its own, which is cancelled with the caller's.
    /// - Returns: What `body` returns.
    /// - Throws: The errors of ``connected(timeout:)``, before `body` runs. After that, the first of these: the error with which
    ///   the connection ended, or the error of `body`. If ``disconnect()`` ended `body`, a ``PusherClientError`` with the
    ///   code ``PusherClientError/Code/disconnected`` replaces a `CancellationError`.
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

    /// The event that ends the work of ``withConnection(isolation:_:)``.
    private enum End {
        /// The work has returned.
        case work
        /// The caller's task was cancelled.
        case cancellation
        /// The connection has ended for good: by an error, or because of `disconnect()`.
        case connection(PusherClientError?)
    }

    private func untilConnectionEnds<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        try await withoutActuallyEscaping(body) { body in
            let firstEnd = FirstEnd()
            var outcome: Result<Value, any Error>?
            // Only a whole task can be cancelled, so the work has one of its own. It is on the caller's actor, whose
            // state the work may use; the caller waits for it.
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
            await withTaskCancellationHandler {
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

    /// Subscribes to a channel while `body` runs. Several parts of an app may do so at once. They share the channel,
    /// and the last one to leave unsubscribes it.
    ///
    /// ```swift
    /// await pusher.withChannel("orders") { channel in
    ///     for await order in channel.events(named: "created", as: Order.self) { show(order) }
    /// }
    /// ```
    ///
    /// The work begins at once, so that no event is missed; call ``PusherChannel/subscribed(timeout:)`` in it to wait
    /// for the server, and to get rejections. A channel that was subscribed by
    /// ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` too stays subscribed.
    /// ``unsubscribe(_:)`` ends the channel for all: their sequences end.
    ///
    /// - Parameters:
    ///   - channelName: The channel.
    ///   - body: The work. It gets the channel, which is a ``PusherPresenceChannel`` if the name begins with
    ///     `presence-`.
    /// - Returns: What the work returns.
    /// - Throws: What the work throws.
    @discardableResult
    public func withChannel<Result>(
        _ channelName: String,
        _ body: (PusherChannel) async throws -> Result
    ) async rethrows -> Result {
        let engine = engine
        let channel = engine.step { state, now in
            let result = state.machine.subscribe(channelName, isLease: true, now: now, into: &state.pending)
            return state.channel(of: result) {
                Self.makeChannel(channelName, result.id, engine, fault: result.error)
            }.channel
        }
        if channel.fault != nil { channel.retire() }
        defer {
            engine.step { state, now in
                state.machine.endLease(of: channelName, channel.id, now: now, into: &state.pending)
            }
        }
        return try await body(channel)
    }
}
