public import Foundation
import PusherProtocol

/// Events that the app sends to the other subscribers of a private or presence channel (protocol clause 5).
extension PusherChannel {
    /// Sends an event to the other subscribers, now or as soon as the channel is subscribed. A PusherSwift member: new code
    /// uses ``send(_:data:encoder:)``, or ``sendLatest(_:data:encoder:)`` if only the newest counts.
    ///
    /// At most ``PusherClientOptions/Limits-swift.struct/queuedClientEvents`` wait. They are sent in order, and not
    /// faster than ``PusherClientOptions/Limits-swift.struct/clientEventsPerSecond``. Events that cannot be sent are
    /// reported to the delegate and by ``Pusher/errors``. The reasons are a name that does not begin with `client-`, a
    /// public or encrypted channel, an invalid channel name, data that is not JSON or too long, and too many waiting
    /// events. A sent event may still be lost with the connection. ``send(_:data:encoder:)`` reports whether it was
    /// written.
    ///
    /// - Parameters:
    ///   - eventName: The event's name, which begins with `client-`.
    ///   - data: The data: anything that `JSONSerialization` accepts, including a string or a number, or an `Encodable`
    ///     value. `JSONEncoder` writes the latter with its defaults, dates as seconds since 2001.
    public func trigger(eventName: String, data: Any) {
        let encoding = engine.options.clientEventEncoding
        let messages = Result { () throws(PusherClientError) in
            try makeMessages(eventName) { try ClientEventData.payload(of: data, encoding) }
        }
        engine.step { state, now in
            switch messages {
            case .success(let messages):
                state.machine.trigger(messages, on: name, id, now: now, into: &state.pending)
            case .failure(let error): state.refuse(error, eventName)
            }
        }
    }

    /// Sends an event to the other subscribers, and waits until it is written to the socket. The server does not
    /// confirm client events. You cannot know more than that the event was written.
    ///
    /// ```swift
    /// try await channel.send("client-typing", data: Typing(user: "ada"))
    /// ```
    ///
    /// - Parameters:
    ///   - eventName: The event's name, which begins with `client-`.
    ///   - data: The data, written as JSON.
    ///   - encoder: What writes it.
    /// - Throws: ``PusherClientError`` if the channel is not subscribed, public, encrypted, or unsubscribed meanwhile;
    ///   if the name does not begin with `client-`; if the data cannot be written as JSON or is too long; if too many
    ///   events wait; or if the connection is lost before the event was written. `CancellationError` if the task is
    ///   cancelled, which removes a waiting event.
    public func send(
        _ eventName: String,
        data: some Encodable & Sendable,
        encoder: JSONEncoder = JSONEncoder()
    ) async throws {
        let encoding = engine.options.clientEventEncoding
        let messages: [ClientEventQueue.Message]
        do {
            messages = try makeMessages(eventName) { try ClientEventData.payload(of: data, encoder, encoding) }
        } catch {
            engine.update { $0.machine.countRefusedClientEvent() }
            throw error
        }
        _ = try await engine.wait { [name, id] machine, waiter, now, effects in
            machine.send(messages, on: name, id, waiter: waiter, now: now, into: &effects)
        }
    }

    /// Sends an event that replaces waiting ones of the same name, for example that a user is typing. Returns at once.
    ///
    /// If the server's limit (``PusherClientOptions/Limits-swift.struct/clientEventsPerSecond``) makes it wait, the next one
    /// of that name takes its place. So it delays other events no more than once, and is sent when its turn comes. If the
    /// channel is not subscribed, or the connection is lost meanwhile, it is dropped. Dropped events are counted in
    /// ``Pusher/statistics``, and not reported.
    ///
    /// ```swift
    /// channel.sendLatest("client-typing", data: Typing(user: "ada"))
    /// ```
    ///
    /// - Parameters:
    ///   - eventName: The event's name, which begins with `client-`.
    ///   - data: The data, written as JSON. What can never be sent is reported by ``Pusher/errors``, as
    ///     ``trigger(eventName:data:)`` does: also on a channel that is unsubscribed, or whose name cannot be subscribed.
    ///   - encoder: What writes it.
    public func sendLatest(_ eventName: String, data: some Encodable, encoder: JSONEncoder = JSONEncoder()) {
        let encoding = engine.options.clientEventEncoding
        let messages = Result { () throws(PusherClientError) in
            try makeMessages(eventName) { try ClientEventData.payload(of: data, encoder, encoding) }
        }
        engine.step { state, now in
            switch messages {
            case .success(let messages):
                state.machine.sendLatest(messages, of: eventName, on: name, id, now: now, into: &state.pending)
            case .failure(let error): state.refuse(error, eventName)
            }
        }
    }

    private func check(_ eventName: String) throws(PusherClientError) {
        guard EventName.isClientEvent(eventName), eventName.utf8.count <= EventName.maximumLength else {
            throw PusherClientError(
                .invalidEventName,
                """
                Invalid client event name \(eventName.quoted): it must begin with client- and have at most \
                \(EventName.maximumLength) bytes.
                """,
                channelName: name
            )
        }
        let reason: String
        switch ChannelKind(ofChannelNamed: name).base {
        case .private, .presence: return
        case .public: reason = "the channel is public. Use a private or presence channel"
        case .privateEncrypted: reason = "the channel is encrypted, and only a server can publish on it"
        }
        throw PusherClientError(
            .clientEventsNotAllowed,
            "Client event \(eventName.quoted) not sent: \(reason).",
            channelName: name
        )
    }

    /// Makes the messages for an event.
    private func makeMessages(
        _ eventName: String,
        _ encode: () throws -> Envelope.Payload
    ) throws(PusherClientError) -> [ClientEventQueue.Message] {
        try check(eventName)
        let payload: Envelope.Payload
        do {
            payload = try encode()
        } catch {
            throw PusherClientError(
                .invalidClientEventData,
                "Client event \(eventName.quoted) not sent: its data cannot be written as JSON.",
                channelName: name,
                cause: error
            )
        }
        let messages = try transformed(.init(event: eventName, data: payload))
        for message in messages { try checkSize(of: message) }
        return messages
    }

    private func transformed(_ message: ClientEventQueue.Message) throws(PusherClientError) -> [ClientEventQueue
        .Message]
    {
        guard let transformer = engine.options.payloadTransformer else { return [message] }
        let payload = EventPayload(
            eventName: message.event,
            data: ClientEventData.text(of: message.data),
            channelName: name
        )
        let payloads: [EventPayload]
        do {
            payloads = try transformer.outgoing(payload)
        } catch {
            throw PusherClientError.transformerThrew(error, "Client event \(message.event.quoted) not sent", name)
        }
        let encoding = engine.options.clientEventEncoding
        return try payloads.map { transformed throws(PusherClientError) in
            guard !transformed.hasBytes(of: payload) else { return message }
            try check(transformed.eventName)
            let data = ClientEventData.payload(ofText: transformed.data, encoding)
            return .init(event: transformed.eventName, data: data)
        }
    }

    private func checkSize(of message: ClientEventQueue.Message) throws(PusherClientError) {
        let (size, limit) = (message.data.text?.utf8.count ?? 0, engine.limits.clientEventSize)
        guard size <= limit else {
            throw PusherClientError(
                .clientEventTooBig,
                "Client event \(message.event.quoted) not sent: its data has \(size) bytes, and \(limit) are allowed.",
                channelName: name
            )
        }
    }
}

extension ClientEngine.State {
    fileprivate mutating func refuse(_ error: PusherClientError, _ eventName: String) {
        var error = error
        error.eventName = eventName
        machine.countRefusedClientEvent()
        pending.append(.report(error))
    }
}

/// The data of a client event as it goes out.
enum ClientEventData {
    static func payload(
        of data: Any,
        _ encoding: PusherClientOptions.ClientEventEncoding
    ) throws -> Envelope.Payload {
        if case .string = encoding, let text = data as? String { return .string(text) }
        return payload(try JSONText.make(of: data), encoding)
    }

    static func payload(
        of data: some Encodable,
        _ encoder: JSONEncoder,
        _ encoding: PusherClientOptions.ClientEventEncoding
    ) throws -> Envelope.Payload {
        if case .string = encoding, let text = data as? String { return .string(text) }
        return payload(String(decoding: try encoder.encode(data), as: UTF8.self), encoding)
    }

    /// The text that a receiver gets as an event's data.
    static func text(of payload: Envelope.Payload) -> String? {
        guard case .json(let json) = payload else { return payload.text }
        return JSONValue(parsing: json)?.string ?? json
    }

    /// Makes a payload from which receivers get this text. An object or a list stays one, for servers that require it.
    static func payload(
        ofText text: String?,
        _ encoding: PusherClientOptions.ClientEventEncoding
    ) -> Envelope.Payload {
        guard let text else { return .none }
        if case .json = encoding, let value = JSONValue(parsing: text), value.object != nil || value.array != nil {
            return .json(text)
        }
        return .string(text)
    }

    private static func payload(
        _ json: String,
        _ encoding: PusherClientOptions.ClientEventEncoding
    ) -> Envelope.Payload {
        switch encoding {
        case .json: .json(json)
        case .string: .string(json)
        }
    }
}
