public import Foundation
import PusherProtocol
import RealtimeJSON

/// Events that the app sends to the other subscribers of a private or presence channel (protocol clause 5).
extension PusherChannel {
    /// Sends an event to the other subscribers, now or as soon as the channel is subscribed. This is a PusherSwift
    /// member. New code uses ``send(_:data:encoder:)``, or ``sendLatest(_:data:encoder:)`` if only the newest event
    /// counts.
    ///
    /// At most ``PusherClientOptions/Limits-swift.struct/queuedClientEvents`` events of the channel wait. The client
    /// sends them in order, and not faster than ``PusherClientOptions/Limits-swift.struct/clientEventsPerSecond``. If
    /// the client cannot send an event, the delegate and ``Pusher/errors`` get the error. An event fails if its name
    /// does not begin with `client-`, or if its data is too long or not JSON. It also fails on a public or encrypted
    /// channel, on a channel with an invalid name, and if too many events wait. A sent event may still be lost with the
    /// connection. ``send(_:data:encoder:)`` reports whether an event was written.
    ///
    /// - Parameters:
    ///   - eventName: The event's name, which begins with `client-`.
    ///   - data: The data: anything that `JSONSerialization` accepts, including a string or a number, or an `Encodable`
    ///     value. `JSONEncoder` writes an `Encodable` value with its default settings: dates are seconds since 2001.
    public func trigger(eventName: String, data: Any) {
        let encoding = engine.options.clientEventEncoding
        let messages = Result { () throws(PusherClientError) in
            try makeMessages(eventName) { try ClientEventData.payload(of: data, encoding) }
        }
        engine.step { state, now in
            switch messages {
            case .success(let messages):
                state.machine.trigger(messages, on: name, id, now: now, into: &state.pending)
            case .failure(let error): state.reject(error, eventName)
            }
        }
    }

    /// Sends an event to the other subscribers, and waits until it is written to the socket. The server does not
    /// confirm client events, so this method cannot report whether the event arrived. Over HTTP, the method waits until
    /// the server has answered the request that contains the event.
    ///
    /// ```swift
    /// try await channel.send("client-typing", data: Typing(user: "ada"))
    /// ```
    ///
    /// - Parameters:
    ///   - eventName: The event's name, which begins with `client-`.
    ///   - data: The data, written as JSON.
    ///   - encoder: The encoder for the data. Default: the client's own encoder, which writes what a new `JSONEncoder`
    ///     writes, but does not escape slashes.
    /// - Throws: ``PusherClientError`` if the channel is public, encrypted, not subscribed, or unsubscribed meanwhile.
    ///   The method also throws this error if the name does not begin with `client-`, or if too many events wait. The
    ///   method also throws this error if the data is too long, or if the encoder cannot write it as JSON. The method
    ///   also throws this error if the connection is lost before the event is written. The code
    ///   ``PusherClientError/Code/unanswered`` means that the client sent the event over HTTP, and that the event may
    ///   have arrived. With another code, the client did not send the event, unless your code released the client, or a
    ///   ``PayloadTransformer`` made several payloads from the event. `CancellationError` if the task is cancelled,
    ///   which removes a waiting event.
    public func send(
        _ eventName: String,
        data: some Encodable & Sendable,
        encoder: JSONEncoder? = nil
    ) async throws {
        let encoding = engine.options.clientEventEncoding
        let messages: [ClientEventQueue.Message]
        do {
            messages = try makeMessages(eventName) { try ClientEventData.payload(of: data, encoder, encoding) }
        } catch {
            engine.update { $0.machine.countRejectedClientEvent() }
            throw error
        }
        _ = try await engine.wait { [name, id] machine, waiter, now, effects in
            machine.send(messages, on: name, id, waiter: waiter, now: now, into: &effects)
        }
    }

    /// Sends an event that replaces waiting events with its name, for example to show that a user is typing. Returns at
    /// once.
    ///
    /// If the event has to wait because of ``PusherClientOptions/Limits-swift.struct/clientEventsPerSecond``, the next
    /// event with this name replaces it in the queue. So the queue contains only one event with this name. If the
    /// channel is not subscribed, or the connection is lost meanwhile, the client drops the event.
    /// ``Pusher/statistics`` counts dropped events, but the client does not report them.
    ///
    /// ```swift
    /// channel.sendLatest("client-typing", data: Typing(user: "ada"))
    /// ```
    ///
    /// - Parameters:
    ///   - eventName: The event's name, which begins with `client-`.
    ///   - data: The data, written as JSON. If the event can never be sent, ``Pusher/errors`` gets an error, as with
    ///     ``trigger(eventName:data:)``. Examples are an event that is too long, and an event on a channel that the app
    ///     has unsubscribed or that has an invalid name.
    ///   - encoder: The encoder for the data. Default: the client's own encoder, which writes what a new `JSONEncoder`
    ///     writes, but does not escape slashes.
    public func sendLatest(_ eventName: String, data: some Encodable, encoder: JSONEncoder? = nil) {
        let encoding = engine.options.clientEventEncoding
        let messages = Result { () throws(PusherClientError) in
            try makeMessages(eventName) { try ClientEventData.payload(of: data, encoder, encoding) }
        }
        engine.step { state, now in
            switch messages {
            case .success(let messages):
                state.machine.sendLatest(messages, of: eventName, on: name, id, now: now, into: &state.pending)
            case .failure(let error): state.reject(error, eventName)
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
    fileprivate mutating func reject(_ error: PusherClientError, _ eventName: String) {
        var error = error
        error.setEventName(eventName)
        machine.countRejectedClientEvent()
        pending.append(.report(error))
    }
}

/// The data of a client event in the form that the client sends.
enum ClientEventData {
    static func payload(
        of data: Any,
        _ encoding: PusherClientOptions.ClientEventEncoding
    ) throws -> Envelope.Payload {
        if case .string = encoding, let text = data as? String { return .string(text) }
        return payload(try UntypedJSON.make(of: data), encoding)
    }

    static func payload(
        of data: some Encodable,
        _ encoder: JSONEncoder?,
        _ encoding: PusherClientOptions.ClientEventEncoding
    ) throws -> Envelope.Payload {
        if case .string = encoding, let text = data as? String { return .string(text) }
        return payload(try JSONEncodingOptions().text(of: data, with: encoder), encoding)
    }

    /// Returns the text that a receiver gets as the event's data.
    static func text(of payload: Envelope.Payload) -> String? {
        guard case .json(let json) = payload else { return payload.text }
        return JSONValue(parsing: json)?.string ?? json
    }

    /// Makes a payload from which receivers get this text. An object or a list stays a JSON value, because some servers
    /// require a JSON value.
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
