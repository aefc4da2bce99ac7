import RealtimePrimitives

#if ServiceLifecycle
    import NIOConcurrencyHelpers
    public import ServiceLifecycle

    /// Part of the trait `ServiceLifecycle`: see ``run()``.
    extension Pusher: Service {}
#endif

/// The client for code that is `async`.
extension Pusher {
    /// Connects, and waits until that has succeeded.
    ///
    /// It waits through failures that are retried. A timeout and the cancellation of the task end the wait, not the
    /// attempts. Unlike ``connect()``, it does not shorten the wait between two attempts.
    ///
    /// - Parameter timeout: How long to wait. Default: without end.
    /// - Returns: The socket id.
    /// - Throws: ``PusherClientError`` if the time is over (``PusherClientError/Code/waitTimedOut``), the server
    ///   refuses the client for good, the options cannot be used, the client stops reconnecting, or ``disconnect()`` is
    ///   called meanwhile. `CancellationError` if the task is cancelled.
    @discardableResult
    public func connected(timeout: Duration? = nil) async throws -> String {
        let limit = timeout.map { waitLimit($0, "connected(timeout:)") }
        let outcome = try await engine.wait(atMost: limit) { machine, waiter, now, effects in
            machine.awaitConnection(waiter, now: now, into: &effects)
        }
        guard case .connected(let socketID) = outcome else {
            throw PusherClientError(.disconnected, "Disconnected: the connection ended.")
        }
        return socketID
    }

    /// Disconnects, and waits until the closing handshake is done, or its time is over.
    ///
    /// If the task is cancelled, the wait ends at once, and the closing handshake continues.
    public func disconnected() async {
        // A task that is cancelled already does not wait, but disconnects all the same.
        disconnect()
        _ = try? await engine.wait { machine, waiter, now, effects in
            machine.awaitDisconnection(waiter, now: now, into: &effects)
        }
    }

    /// Connects, stays connected until the task is cancelled, and disconnects: for a task group or a service.
    ///
    /// With the package's trait `ServiceLifecycle`, `Pusher` conforms to `Service` through this method. A graceful
    /// shutdown ends it with the closing handshake.
    ///
    /// - Throws: ``PusherClientError`` if the connection ends for good for another reason than ``disconnect()``.
    public func run() async throws {
        #if ServiceLifecycle
            // If a shutdown has begun already, the handler is called first, and the operation is called all the same.
            let isShuttingDown = NIOLockedValueBox(false)
            try await withGracefulShutdownHandler {
                try await runToEnd { isShuttingDown.withLockedValue { $0 } }
            } onGracefulShutdown: {
                isShuttingDown.withLockedValue { $0 = true }
                self.disconnect()
            }
        #else
            try await runToEnd { false }
        #endif
    }

    /// - Parameter isStopped: Called when the wait begins.
    private func runToEnd(unless isStopped: @escaping @Sendable () -> Bool) async throws {
        do {
            _ = try await engine.wait { machine, waiter, now, effects in
                guard !isStopped() else { return effects.append(.resume(waiter, .done)) }
                machine.connectAndAwaitEnd(waiter, now: now, into: &effects)
            }
        } catch is CancellationError {
            disconnect()
        }
    }

    /// Signs the user in, as ``signIn()`` does, and waits until that has succeeded. It waits for the connection too:
    /// call ``connect()``. If nothing connects for 5 s, the log says so.
    ///
    /// It waits for the user's own channel too, so that no event is lost that your backend sends to the user
    /// afterwards. If the server refuses that channel, or does not answer within ``PusherTimeouts/subscription``, the
    /// user is signed in all the same. ``errors`` reports what happened, and the next call subscribes to the channel
    /// again.
    ///
    /// - Parameter timeout: How long to wait. It ends the wait, not the sign-in. Default: without end.
    /// - Returns: The user.
    /// - Throws: ``PusherClientError`` if the time is over (``PusherClientError/Code/waitTimedOut``), the user cannot
    ///   be authorized, the server refuses the sign-in or does not answer within ``PusherTimeouts/signIn``,
    ///   ``signOut()`` is called, or the connection ends for good for another reason than ``disconnect()``.
    ///   `CancellationError` if the task is cancelled; the sign-in continues.
    @discardableResult
    public func signedIn(timeout: Duration? = nil) async throws -> PusherUser {
        let limit = timeout.map { waitLimit($0, "signedIn(timeout:)") }
        _ = try await engine.wait(of: "signedIn()", atMost: limit) { machine, waiter, now, effects in
            machine.awaitSignIn(waiter, now: now, into: &effects)
        }
        return user
    }

    private func waitLimit(_ timeout: Duration, _ call: String) -> WaitLimit {
        WaitLimit(timeout) { [engine] in
            PusherClientError(
                .waitTimedOut,
                "No result of \(call) within \(timeout.inWords): the connection is in the status \"\(engine.status)\"."
            )
        }
    }

    /// The connection's status, and each change of it. The first element is the last status that was announced. It can
    /// be behind ``status`` for a moment. See ``ConnectionStatus``.
    public var statuses: EventSequence<ConnectionStatus> { engine.statuses.makeSequence() }

    /// The same as ``statuses``, but repeats the status while the client waits before an attempt, so that a display can
    /// count down.
    ///
    /// ```swift
    /// for await status in pusher.statuses(every: .seconds(1)) {
    ///     banner.text = status.remaining().map { "Reconnecting in \($0.components.seconds) s" }
    /// }
    /// ```
    ///
    /// - Parameter interval: The time between two statuses while the client waits, counted from the beginning of the wait; less
    ///   than 10 ms counts as that.
    public func statuses(every interval: Duration) -> EventSequence<ConnectionStatus> {
        let sequence = engine.statuses.makeSequence()
        engine.repeatStatus(every: max(interval, .milliseconds(10)), to: sequence.buffer)
        return sequence
    }

    /// All errors from now on, also those that a call throws: failed attempts and lost connections, `pusher:error`,
    /// subscriptions and sign-ins that fail, client events that cannot be sent, malformed messages, data that cannot be
    /// decoded or decrypted, and dropped events.
    public var errors: EventSequence<PusherClientError> { engine.errors.makeSequence() }
}
