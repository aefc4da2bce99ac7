public import Observation
public import PusherClient

/// The latest value of an event, for a view that shows it: see <doc:ShowItInSwiftUI>.
///
/// ```swift
/// let price = LatestValue("changed", as: Price.self, from: pusher.subscribe("price-of-tea"))
/// show(price.value?.amount)    // in the body of a view: Text(…)
/// ```
///
/// The object follows the event from its creation until its release, or until the app unsubscribes. It keeps neither the
/// subscription nor the client alive. The client skips data that it cannot decode, and reports it in
/// ``PusherClient/Pusher/errors``.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor @Observable
public final class LatestValue<Value: Decodable> {
    /// The data of the last event; before the first event, the initial value.
    public private(set) var value: Value?

    @ObservationIgnored private var observation: EventObservation?

    /// Creates an object that follows an event.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - type: The type of the data.
    ///   - source: The channel, the user or the client whose events count.
    ///   - initial: The value before the first event, for example from your backend. Default: none.
    public init(
        _ eventName: String,
        as type: Value.Type = Value.self,
        from source: some PusherEventSource<PusherEvent>,
        initial: Value? = nil
    ) {
        value = initial
        observation = source.observe(named: eventName, as: type, on: MainActor.shared) { [weak self] event in
            self?.value = event.value
        }
    }
}

/// The last values of an event, for a view that lists them: see <doc:ShowItInSwiftUI>.
///
/// ```swift
/// let orders = RecentValues("created", as: Order.self, from: pusher.subscribe("orders"), limit: 20)
/// for order in orders.values { show(order.id) }    // in the body of a view: List(orders.values, …)
/// ```
///
/// The object follows the event from its creation until its release, or until the app unsubscribes. It keeps neither the
/// subscription nor the client alive. The client skips data that it cannot decode, and reports it in
/// ``PusherClient/Pusher/errors``.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
@MainActor @Observable
public final class RecentValues<Value: Decodable> {
    /// The data of the last events, the oldest first.
    public private(set) var values: [Value]

    /// The maximum number of values.
    public let limit: Int

    @ObservationIgnored private var observation: EventObservation?

    /// Creates an object that follows an event.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - type: The type of the data.
    ///   - source: The channel, the user or the client whose events count.
    ///   - limit: The maximum number of values. The oldest value goes first. A number below 1 counts as 1. Default: 100.
    ///   - initial: The values before the first event, the oldest first, for example from your backend. Default: none.
    public init(
        _ eventName: String,
        as type: Value.Type = Value.self,
        from source: some PusherEventSource<PusherEvent>,
        limit: Int = 100,
        initial: [Value] = []
    ) {
        self.limit = max(limit, 1)
        values = initial.suffix(max(limit, 1))
        observation = source.observe(named: eventName, as: type, on: MainActor.shared) { [weak self] event in
            self?.append(event.value)
        }
    }

    private func append(_ value: Value) {
        // One change for observers.
        values = values.suffix(limit - 1) + [value]
    }
}
