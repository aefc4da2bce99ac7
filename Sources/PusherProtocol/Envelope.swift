package import RealtimeJSON

/// One message of the protocol, in either direction: `{"event": …, "data": …, "channel": …, "user_id": …}`
/// (protocol clause 2).
package struct Envelope: Hashable, Sendable {
    /// The value of `data`, decoded only as far as necessary to pass it on.
    package enum Payload: Hashable, Sendable {
        /// No `data` key, or `null`.
        case none
        /// An unescaped JSON string. Most servers send this form. The string usually contains JSON ("double encoding").
        case string(String)
        /// The JSON text of an object, array, number or boolean, as the server sent it.
        case json(String)

        /// The text that listeners get: the string, or the JSON text of another value.
        package var text: String? {
            switch self {
            case .none: nil
            case .string(let text), .json(let text): text
            }
        }

        /// The value of the data, which may be encoded once or twice; nil if the data is missing or not JSON.
        package var value: JSONValue? { text.flatMap { JSONValue(parsing: $0) } }

        /// Reads ``value`` without converting all of it: see ``JSONValue/read(_:_:)``.
        package func read<Result>(_ body: (JSONNode) throws -> Result?) -> Result? {
            text.flatMap { JSONValue.read($0, body) }
        }
    }

    package var event: String
    package var channel: String?
    package var data: Payload
    /// The id of the user. A number becomes a string.
    package var userID: String?
    /// The text of the whole message, if it has keys other than the four above; otherwise nil.
    package var unknownKeysText: String?

    package init(
        event: String,
        channel: String? = nil,
        data: Payload = .none,
        userID: String? = nil,
        unknownKeysText: String? = nil
    ) {
        self.event = event
        self.channel = channel
        self.data = data
        self.userID = userID
        self.unknownKeysText = unknownKeysText
    }

    /// The message as JSON text.
    package var jsonText: String {
        var writer = JSONWriter(minimumCapacity: 48 + (data.text?.utf8.count ?? 0))
        writer.write(raw: #"{"event":"#)
        writer.write(string: event)
        switch data {
        case .none: break
        case .string(let text):
            writer.write(raw: #","data":"#)
            writer.write(string: text)
        case .json(let text):
            writer.write(raw: #","data":"#)
            writer.write(raw: text)
        }
        if let channel {
            writer.write(raw: #","channel":"#)
            writer.write(string: channel)
        }
        if let userID {
            writer.write(raw: #","user_id":"#)
            writer.write(string: userID)
        }
        writer.write(raw: "}")
        return writer.text
    }
}

extension Envelope {
    /// Makes `pusher:subscribe` with an authorization. `channelData` stays unchanged, because the signature covers its
    /// bytes.
    package static func subscribe(channel: String, auth: String? = nil, channelData: String? = nil) -> Envelope {
        var writer = JSONWriter()
        writer.write(raw: #"{"channel":"#)
        writer.write(string: channel)
        if let auth {
            writer.write(raw: #","auth":"#)
            writer.write(string: auth)
        }
        if let channelData {
            writer.write(raw: #","channel_data":"#)
            writer.write(string: channelData)
        }
        writer.write(raw: "}")
        return Envelope(event: EventName.subscribe, data: .json(writer.text))
    }

    package static func unsubscribe(channel: String) -> Envelope {
        var writer = JSONWriter()
        writer.write(raw: #"{"channel":"#)
        writer.write(string: channel)
        writer.write(raw: "}")
        return Envelope(event: EventName.unsubscribe, data: .json(writer.text))
    }

    /// Makes `pusher:signin`. `userData` stays unchanged, because the signature covers its bytes.
    package static func signIn(auth: String, userData: String) -> Envelope {
        var writer = JSONWriter()
        writer.write(raw: #"{"auth":"#)
        writer.write(string: auth)
        writer.write(raw: #","user_data":"#)
        writer.write(string: userData)
        writer.write(raw: "}")
        return Envelope(event: EventName.signIn, data: .json(writer.text))
    }

    package static let ping = Envelope(event: EventName.ping, data: .json("{}"))
    package static let pong = Envelope(event: EventName.pong, data: .json("{}"))
}
