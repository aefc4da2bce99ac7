import RealtimePrimitives

/// Members of a channel for `async` code.
extension PusherChannel {
    /// Waits until the channel is subscribed. Subscriptions wait for the connection: call ``Pusher/connect()`` too. If
    /// no attempt to connect begins within 5 s, the client logs a warning.
    ///
    /// ```swift
    /// let channel = pusher.subscribe("orders")
    /// let orders = channel.events(named: "created")    // made first, so that no event is missed
    /// try await channel.subscribed()
    /// ```
    ///
    /// A failure that may pass does not end the wait, because the client tries again: see
    /// ``PusherClientOptions/requestRetryPolicy``. ``subscriptionStatus`` and ``Pusher/errors`` show such a failure.
    ///
    /// - Parameter timeout: The time limit of the wait. The subscription continues afterwards. Default: no limit.
    /// - Returns: The channel itself.
    /// - Throws: ``SubscriptionError`` if the time limit is reached (``PusherClientError/Code/waitTimedOut``, with the last
    ///   failure as its cause), if the name is invalid, or if the authorization fails for good. The method also throws
    ///   this error if the server refuses the channel, or if the app unsubscribes meanwhile. ``PusherClientError`` if the
    ///   client stops for another reason than ``Pusher/disconnect()``. `CancellationError` if the task is cancelled; the
    ///   subscription continues.
    @discardableResult
    public func subscribed(timeout: Duration? = nil) async throws -> PusherChannel {
        if let fault { throw fault }
        let limit = timeout.map { timeout in
            WaitLimit(timeout) { [engine, name] in
                let failure = engine.read { $0.machine.session?.retries[.channel(name)]?.error.subscriptionError }
                let reason = failure?.message ?? "the connection is in the status \"\(engine.status)\"."
                return SubscriptionError(
                    .waitTimedOut,
                    channelName: name,
                    "No subscription within \(timeout.inWords): \(reason)",
                    httpStatus: failure?.httpStatus,
                    body: failure?.body,
                    cause: failure
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

    /// A sequence that gets an element each time the client has subscribed to the channel again. The element is the
    /// time without a subscription. The channel has missed the events of that time, so fetch missing data yourself.
    ///
    /// ```swift
    /// for await gap in channel.resubscriptions { print("not subscribed for \(gap)") }
    /// ```
    ///
    /// The sequence gets an element after a lost connection, and after a new connection by ``Pusher/connect()``,
    /// ``Pusher/reconnectNow()`` or ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)``. It also gets an
    /// element after ``resubscribe()``, and after the client has subscribed again because the server refused a channel
    /// that it had confirmed.
    public var resubscriptions: EventSequence<Duration> { makeSequence(of: \.resubscriptions) }
}
