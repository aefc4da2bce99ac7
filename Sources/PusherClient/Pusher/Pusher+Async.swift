import RealtimePrimitives

#if ServiceLifecycle
    import NIOConcurrencyHelpers
    public import ServiceLifecycle

    /// A service of swift-service-lifecycle, with the package's trait `ServiceLifecycle`: see ``run()``.
    extension Pusher: Service {}
#endif

/// Members of a client for `async` code.
extension Pusher {
    /// Connects, and waits until the client is connected.
    ///
    /// The method continues to wait while the client retries failed attempts. A timeout and the cancellation of the
    /// task end the wait, not the attempts. Unlike ``connect()``, the method does not shorten the wait between two
    /// attempts.
    ///
    /// - Parameter timeout: The time limit of the wait. Default: no limit.
    /// - Returns: The socket id.
    /// - Throws: ``PusherClientError`` if the time limit is reached (``PusherClientError/Code/waitTimedOut``), or if
    ///   ``disconnect()`` is called meanwhile. The method also throws this error if the server refuses the client, if
    ///   an option is invalid, or if the client stops reconnecting. `CancellationError` if the task is cancelled.
    @discardableResult
    public func connected(timeout: Duration? = nil) async throws -> String {
        let limit = timeout.map { waitLimit($0, "connected(timeout:)") }
        let outcome = try await engine.wait(atMost: limit) { machine, waiter, now, effects in
            machine.awaitConnection(waiter, now: now, into: &effects)
        }
        guard case .connected(let socketID) = outcome else {
            throw PusherClientError(.disconnected, "Disconnected: the connection was closed.")
        }
        return socketID
    }

    /// Disconnects, and waits until the closing handshake is done or times out.
    ///
    /// If the task is cancelled, the wait ends at once, and the closing handshake continues.
    public func disconnected() async {
        // A cancelled task does not wait, but the client still disconnects.
        disconnect()
        _ = try? await engine.wait { machine, waiter, now, effects in
            machine.awaitDisconnection(waiter, now: now, into: &effects)
        }
    }

    /// Connects, stays connected until the task is cancelled, and then disconnects. Use this method in a task group or
    /// a service.
    ///
    /// With the package's trait `ServiceLifecycle`, `Pusher` conforms to `Service` through this method. On a graceful
    /// shutdown, the client disconnects with the closing handshake, and the method returns.
    ///
    /// - Throws: ``PusherClientError`` if the client stops for another reason than ``disconnect()``.
    public func run() async throws {
        #if ServiceLifecycle
            // If a shutdown has already begun, `withGracefulShutdownHandler` calls the handler first, and still calls
            // the operation.
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

    /// - Parameter isStopped: A closure that returns whether to end at once. The method calls it when the wait begins.
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

    /// Signs the user in, as ``signIn()`` does, and waits until the sign-in succeeds. The method also waits for the
    /// connection, so call ``connect()`` too. If no attempt to connect begins within 5 s, the client logs a warning.
    ///
    /// The method waits for the user's own channel too. The client then gets every event that your backend sends to the
    /// user afterwards. If the server refuses that channel, or does not answer within ``PusherTimeouts/subscription``,
    /// the sign-in still succeeds, and ``errors`` reports the failure. If the server did not answer, the client tries
    /// again. After a refusal, the next call does.
    ///
    /// A failure of the sign-in that may pass does not end the wait, because the client tries again: see
    /// ``PusherClientOptions/requestRetryPolicy``.
    ///
    /// - Parameter timeout: The time limit of the wait. The sign-in continues afterwards. Default: no limit.
    /// - Returns: The user.
    /// - Throws: ``PusherClientError`` if the time limit is reached (``PusherClientError/Code/waitTimedOut``, with the last
    ///   failure as its cause), if the authorization fails for good, or if ``signOut()`` is called. The method also throws
    ///   this error if the server refuses the sign-in, or if the client stops for another reason than ``disconnect()``.
    ///   `CancellationError` if the task is cancelled; the sign-in continues.
    @discardableResult
    public func signedIn(timeout: Duration? = nil) async throws -> PusherUser {
        let limit = timeout.map { timeout in
            waitLimit(timeout, "signedIn(timeout:)") { $0.session?.retries[.signIn]?.error }
        }
        _ = try await engine.wait(of: "signedIn()", atMost: limit) { machine, waiter, now, effects in
            machine.awaitSignIn(waiter, now: now, into: &effects)
        }
        return user
    }

    /// - Parameter failure: A closure that returns the last failure of the operation, if it is being retried.
    private func waitLimit(
        _ timeout: Duration,
        _ call: String,
        _ failure: @escaping @Sendable (ClientStateMachine) -> PusherClientError? = { _ in nil }
    ) -> WaitLimit {
        WaitLimit(timeout) { [engine] in
            let failure = engine.read { failure($0.machine) }
            let reason = failure?.message ?? "the connection is in the status \"\(engine.status)\"."
            return PusherClientError(
                .waitTimedOut,
                "No result of \(call) within \(timeout.inWords): \(reason)",
                cause: failure
            )
        }
    }

    /// A sequence of the connection's current status and each later status. The first element is the status that the
    /// client announced last. This status can briefly be older than ``status``. See ``ConnectionStatus``.
    ///
    /// The sequence does not end when the client disconnects or stops. It ends when the client is released.
    public var statuses: EventSequence<ConnectionStatus> { engine.statuses.makeSequence() }

    /// Returns a sequence that gets each status, as ``statuses`` does, and repeats the status while the client waits
    /// before an attempt. Use the sequence to display a countdown.
    ///
    /// ```swift
    /// for await status in pusher.statuses(every: .seconds(1)) {
    ///     banner.text = status.remaining().map { "Reconnecting in \($0.components.seconds) s" }
    /// }
    /// ```
    ///
    /// - Parameter interval: The time between two statuses while the client waits, counted from the beginning of the
    ///   wait, or from the call of this method if it comes later. A value below 10 ms counts as 10 ms.
    public func statuses(every interval: Duration) -> EventSequence<ConnectionStatus> {
        let sequence = engine.statuses.makeSequence()
        engine.repeatStatus(every: max(interval, .milliseconds(10)), to: sequence.buffer)
        return sequence
    }

    /// A sequence of the errors that the client reports from now on:
    ///
    /// - failed attempts, lost connections, and `pusher:error`
    /// - failed subscriptions and sign-ins
    /// - client events and other messages that cannot be sent
    /// - malformed messages, data that cannot be decoded or decrypted, and failures of a ``PayloadTransformer``
    /// - dropped events, callbacks that are not bound, and members that are not kept
    ///
    /// The client reports a failed attempt, subscription or sign-in even if a call throws the error. Only the caller
    /// gets an error that concerns only the call. Examples are the errors of ``PusherChannel/send(_:data:encoder:)``
    /// and ``switchTo(endpoint:key:authMethod:userAuthMethod:)``, and the errors of waits that the app ended with a
    /// `timeout`, ``disconnect()``, ``signOut()`` or ``unsubscribe(_:)``.
    public var errors: EventSequence<PusherClientError> { engine.errors.makeSequence() }
}
