import RealtimeJSON

/// The encoding of messages as JSON objects. Members can be in any order, and the decoder ignores unknown members.
enum JSONHubProtocol {
    // MARK: Decoding

    private struct Members {
        var type: UInt64?
        var id: String?
        var target: String?
        var arguments: [EncodedValue]?
        var streamIDs: [String] = []
        var item: EncodedValue?
        var result: EncodedValue?
        var error: String?
        var allowReconnect = false
        var sequenceID: UInt64?
        var headers: [String: String] = [:]

        init(_ frame: ArraySlice<UInt8>) throws(HubProtocolViolation) {
            self = try JSONNode.read(frame) { object in
                var members = Members()
                for (name, value) in try object.requiredMembers() { try members.add(name, value, in: frame) }
                return members
            }
        }

        private init() {}

        private mutating func add(
            _ name: String,
            _ value: JSONNode,
            in frame: ArraySlice<UInt8>
        ) throws(HubProtocolViolation) {
            switch name {
            case "type": type = value.unsigned
            case "invocationId": id = value.isNull ? nil : try value.requiredString()
            case "target": target = try value.requiredString()
            case "arguments": arguments = try value.requiredElements().map { $0.encoded(in: frame) }
            case "streamIds" where !value.isNull:
                streamIDs = []
                for element in try value.requiredElements() { streamIDs.append(try element.requiredString()) }
            case "item": item = value.encoded(in: frame)
            case "result": result = value.encoded(in: frame)
            case "error": error = value.isNull ? nil : try value.requiredString()
            case "allowReconnect": allowReconnect = value.bool ?? false
            case "sequenceId": sequenceID = value.unsigned
            // Headers are optional, so the decoder ignores malformed headers.
            case "headers": for (name, value) in value.members { headers[name] = value.string }
            default: break
            }
        }

        func required<T>(_ value: T?, _ name: String) throws(HubProtocolViolation) -> T {
            guard let value else { throw HubProtocolViolation("a message has no valid '\(name)'") }
            return value
        }

        func requiredID() throws(HubProtocolViolation) -> String { try required(id, "invocationId") }

        func invocation(id: String?) throws(HubProtocolViolation) -> HubInvocation {
            HubInvocation(
                id: id?.isEmpty == true ? nil : id,
                target: try required(target, "target"),
                arguments: try required(arguments, "arguments"),
                streamIDs: streamIDs,
                headers: headers
            )
        }

        /// The outcome of a call. If a message has both a result and an error, the decoder uses the error.
        var outcome: HubOutcome { error.map { .error($0) } ?? result.map { .value($0) } ?? .void }
    }

    static func decode(_ object: ArraySlice<UInt8>) throws(HubProtocolViolation) -> HubMessage? {
        let members = try Members(object)
        guard let kind = HubMessage.Kind(rawValue: try members.required(members.type, "type")) else { return nil }
        switch kind {
        case .invocation: return .invocation(try members.invocation(id: members.id))
        case .streamInvocation:
            let id = try members.requiredID()
            // Without an id, the client could not tell which items are part of this stream.
            guard !id.isEmpty else { throw HubProtocolViolation("a message has an empty 'invocationId'") }
            return .streamInvocation(try members.invocation(id: id))
        case .streamItem:
            let item = try members.required(members.item, "item")
            return .streamItem(id: try members.requiredID(), item: item, headers: members.headers)
        case .completion:
            return .completion(id: try members.requiredID(), members.outcome, headers: members.headers)
        case .cancelInvocation: return .cancelInvocation(id: try members.requiredID(), headers: members.headers)
        case .ping: return .ping
        case .close: return .close(error: members.error, allowReconnect: members.allowReconnect)
        case .ack: return .ack(try members.required(members.sequenceID, "sequenceId"))
        case .sequence: return .sequence(try members.required(members.sequenceID, "sequenceId"))
        }
    }

    // MARK: Encoding

    static func encode(_ message: HubMessage) -> [UInt8] {
        var object: JSONObject
        switch message {
        case .invocation(let invocation): object = encode(invocation, .invocation)
        case .streamInvocation(let invocation): object = encode(invocation, .streamInvocation)
        case .streamItem(let id, let item, let headers):
            object = JSONObject(.streamItem, id: id, headers)
            object.add("item", item)
        case .completion(let id, let outcome, let headers):
            object = JSONObject(.completion, id: id, headers)
            switch outcome {
            case .void: break
            case .value(let value): object.add("result", value)
            case .error(let text): object.add("error", text)
            }
        case .cancelInvocation(let id, let headers): object = JSONObject(.cancelInvocation, id: id, headers)
        case .ping: object = JSONObject(.ping)
        case .close(let error, let allowReconnect):
            object = JSONObject(.close)
            if let error { object.add("error", error) }
            if allowReconnect { object.add("allowReconnect", Array("true".utf8)[...]) }
        case .ack(let id):
            object = JSONObject(.ack)
            object.add("sequenceId", Array("\(id)".utf8)[...])
        case .sequence(let id):
            object = JSONObject(.sequence)
            object.add("sequenceId", Array("\(id)".utf8)[...])
        }
        return object.frame
    }

    private static func encode(_ invocation: HubInvocation, _ kind: HubMessage.Kind) -> JSONObject {
        var object = JSONObject(kind, id: invocation.id, invocation.headers)
        object.add("target", invocation.target)
        object.add("arguments", list: invocation.arguments)
        if !invocation.streamIDs.isEmpty {
            object.add(
                "streamIds",
                list: invocation.streamIDs.map { Array(JSONWriter.string($0).utf8)[...] }
            )
        }
        return object
    }
}

/// A JSON object that the encoder writes.
private struct JSONObject {
    private var bytes: [UInt8]

    init(_ kind: HubMessage.Kind, id: String? = nil, _ headers: [String: String] = [:]) {
        bytes = Array(#"{"type":\#(kind.rawValue)"#.utf8)
        if !headers.isEmpty {
            let members = headers.sorted { $0.key < $1.key }.map { ($0.key, JSONWriter.string($0.value)) }
            add("headers", Array(JSONWriter.object(members).utf8)[...])
        }
        if let id { add("invocationId", id) }
    }

    /// Adds the name of a member. All names are constants that need no escapes.
    private mutating func add(_ name: String) { bytes += Array(#","\#(name)":"#.utf8) }

    mutating func add(_ name: String, _ value: EncodedValue) {
        add(name)
        bytes += value
    }

    mutating func add(_ name: String, _ text: String) {
        add(name)
        bytes += JSONWriter.string(text).utf8
    }

    mutating func add(_ name: String, list values: [EncodedValue]) {
        add(name)
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += value
        }
        bytes.append(UInt8(ascii: "]"))
    }

    var frame: [UInt8] { bytes + [UInt8(ascii: "}"), HubFrameReader.separator] }
}
