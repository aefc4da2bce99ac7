public import Foundation

/// Members for events that Laravel broadcasts, with the names of Laravel Echo: see <doc:UseItWithLaravel>.
extension PusherChannel {
    /// Returns a sequence of an event that Laravel broadcasts, with its data decoded.
    ///
    /// ```swift
    /// for await shipped in channel.listen("OrderShipped", as: OrderShipped.self) { show(shipped) }
    /// ```
    ///
    /// The sequence is `values(named:as:)` with the event's whole name. Laravel names an event after its class, such as
    /// `App\Events\OrderShipped`, unless the class has a `broadcastAs`.
    ///
    /// - Parameters:
    ///   - event: The class without its namespace, such as `"OrderShipped"`, or with a part of its namespace, such as
    ///     `"Shipping.OrderShipped"` for `App\Events\Shipping\OrderShipped`. A name that begins with a dot or a
    ///     backslash is whole: `".order.shipped"` for `broadcastAs`, `".PostUpdated"` for a model.
    ///   - type: The type of the decoded data. Laravel sends the public properties of the event's class, or what its
    ///     `broadcastWith` returns.
    ///   - namespace: The namespace of event classes, with dots or backslashes. An empty text means none. Default:
    ///     `App.Events`.
    ///   - decoder: The decoder for the data. Default: the client's own decoder, with
    ///     ``PusherClientOptions/decoding``.
    public func listen<Value: Decodable>(
        _ event: String,
        as type: Value.Type,
        namespace: String = LaravelEvent.defaultNamespace,
        decoder: JSONDecoder? = nil
    ) -> DecodedValueSequence<Value> {
        values(named: LaravelEvent.name(of: event, in: namespace), as: type, decoder: decoder)
    }

    /// Returns a sequence of an event that Laravel broadcasts, for an event without data or with data that you decode
    /// yourself: see ``listen(_:as:namespace:decoder:)``.
    public func listen(
        _ event: String,
        namespace: String = LaravelEvent.defaultNamespace
    ) -> EventSequence<PusherEvent> {
        events(named: LaravelEvent.name(of: event, in: namespace))
    }

    /// Returns a sequence of the notifications that Laravel broadcasts to the channel of a user or another model.
    ///
    /// ```swift
    /// let mine = pusher.subscribe("private-App.Models.User.7")
    /// for await notification in mine.notifications(as: InvoicePaid.self) { show(notification) }
    /// ```
    ///
    /// The data is what the notification's `toBroadcast` or `toArray` returns, with the members `id` (a UUID) and `type`
    /// (the class, or what `broadcastType` returns). If the channel gets notifications of several types, decode a type
    /// with all their members as optional members, or iterate `events(named: LaravelEvent.notification)`.
    ///
    /// - Parameters:
    ///   - type: The type of the decoded data.
    ///   - decoder: The decoder for the data. Default: the client's own decoder, with
    ///     ``PusherClientOptions/decoding``.
    public func notifications<Value: Decodable>(
        as type: Value.Type,
        decoder: JSONDecoder? = nil
    ) -> DecodedValueSequence<Value> {
        values(named: LaravelEvent.notification, as: type, decoder: decoder)
    }

    /// Sends a whisper, which is a client event with a short life, to the other subscribers. Returns at once.
    ///
    /// This is ``sendLatest(_:data:encoder:)`` with the event's whole name: if the channel is not subscribed, the client
    /// drops the whisper, and of several waiting whispers with one name, it sends the newest. To send all of them, or to
    /// learn of a failure, use ``send(_:data:encoder:)`` with the name `client-typing`.
    ///
    /// ```swift
    /// channel.whisper("typing", data: Typing(user: "ada"))
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name without `client-`, such as `"typing"`.
    ///   - data: The data, written as JSON.
    ///   - encoder: The encoder for the data. Default: the client's own encoder, which writes what a new `JSONEncoder`
    ///     writes, but does not escape slashes.
    public func whisper(_ name: String, data: some Encodable, encoder: JSONEncoder? = nil) {
        sendLatest(LaravelEvent.whisperPrefix + name, data: data, encoder: encoder)
    }

    /// Returns a sequence of the whispers of other subscribers. On a presence channel, ``TypedEvent/userId`` is the
    /// sender, if the server adds it. Reverb adds it if it accepts client events from members only.
    ///
    /// - Parameters:
    ///   - name: The name without `client-`, such as `"typing"`.
    ///   - type: The type of the decoded data.
    ///   - decoder: The decoder for the data. Default: the client's own decoder, with
    ///     ``PusherClientOptions/decoding``.
    public func listenForWhisper<Value: Decodable>(
        _ name: String,
        as type: Value.Type,
        decoder: JSONDecoder? = nil
    ) -> DecodedEventSequence<Value> {
        events(named: LaravelEvent.whisperPrefix + name, as: type, decoder: decoder)
    }
}

/// The names of events that Laravel broadcasts.
public enum LaravelEvent {
    /// The namespace of event classes in a new Laravel application.
    public static let defaultNamespace = "App.Events"

    /// The event of a notification.
    public static let notification = #"Illuminate\Notifications\Events\BroadcastNotificationCreated"#

    static let whisperPrefix = "client-"

    /// Returns the whole name of an event, by the rule of Laravel Echo.
    ///
    /// ```swift
    /// let observation = channel.observe(named: LaravelEvent.name(of: "OrderShipped")) { print($0.data ?? "") }
    /// ```
    ///
    /// - Parameters:
    ///   - event: The class in its namespace, with dots or backslashes, or a whole name after a dot or backslash.
    ///   - namespace: The namespace, with dots or backslashes. An empty text means none. Default: `App.Events`.
    public static func name(of event: String, in namespace: String = defaultNamespace) -> String {
        if event.hasPrefix(".") || event.hasPrefix(#"\"#) { return String(event.dropFirst()) }
        let name = namespace.isEmpty ? event : "\(namespace).\(event)"
        return name.replacing(".", with: #"\"#)
    }
}
