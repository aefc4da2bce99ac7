import RealtimePrimitives

/// The channel for code that is `async`.
extension PusherChannel {
    /// Waits until the channel is subscribed. Subscriptions wait for the connection: call ``Pusher/connect()`` too. If
    /// nothing connects for 5 s, the log says so.
    ///
    /// ```swift
    /// let channel = pusher.subscribe("orders")
    /// let orders = channel.events(named: "created")    // made first, so that no event is missed
    /// try await channel.subscribed()
    /// ```
    ///
    /// - Parameter timeout: How long to wait. It ends the wait, not the subscription. Default: without end.
    /// - Returns: The channel itself.
    /// - Throws: ``SubscriptionError`` if the time is over (``PusherClientError/Code/waitTimedOut``), the name is
    ///   invalid, the channel cannot be authorized, the server refuses it or does not answer in time, or the channel is
    ///   unsubscribed meanwhile. ``PusherClientError`` if the connection ends for good for another reason than
    ///   ``Pusher/disconnect()``. `CancellationError` if the task is cancelled; the subscription continues.
    @discardableResult
    public func subscribed(timeout: Duration? = nil) async throws -> PusherChannel {
        if let fault { throw fault }
        let limit = timeout.map { timeout in
            WaitLimit(timeout) { [engine, name] in
                SubscriptionError(
                    .waitTimedOut,
                    channelName: name,
                    "No subscription within \(timeout.inWords): the connection is in the status \"\(engine.status)\"."
                )
            }
        }
        _ = try await engine.wait(
            subscribing: name,
            of: "subscribed() of the channel \(name.quoted)",
            atMost: limit
        ) { [name, id] machine, waiter, now, effects in
            machine.awaitSubscription(waiter, to: name, id, now: now, into: &effects)
        }
        return self
    }

    /// How long the channel was not subscribed, each time that it is subscribed again. Events of that time were not
    /// delivered: fetch what you need of them.
    ///
    /// ```swift
    /// for await gap in channel.resubscriptions { print("not subscribed for \(gap)") }
    /// ```
    ///
    /// That is so after a lost connection, and after ``Pusher/disconnect()`` and ``Pusher/connect()``,
    /// ``Pusher/reconnectNow()``, ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)`` or ``resubscribe()``.
    public var resubscriptions: EventSequence<Duration> { makeSequence(of: \.resubscriptions) }
}
