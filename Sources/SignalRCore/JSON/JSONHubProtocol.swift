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

        init(_ object: ArraySlice<UInt8>) throws(HubProtocolViolation) {
            for (name, value) in try JSONScanner.members(of: object) {
                let isNull = JSONScanner.isNull(value)
                switch name {
                case "type": type = JSONScanner.unsigned(value)
                case "invocationId": id = isNull ? nil : try JSONScanner.string(value)
                case "target": target = try JSONScanner.string(value)
                case "arguments": arguments = try JSONScanner.elements(of: value)
                case "streamIds" where !isNull:
                    streamIDs = []
                    for element in try JSONScanner.elements(of: value) {
                        streamIDs.append(try JSONScanner.string(element))
                    }
                case "item": item = value
                case "result": result = value
                case "error": error = isNull ? nil : try JSONScanner.string(value)
                case "allowReconnect": allowReconnect = JSONScanner.bool(value) ?? false
                case "sequenceId": sequenceID = JSONScanner.unsigned(value)
                // Headers are optional, so the decoder ignores malformed headers.
                case "headers":
                    let members = (try? JSONScanner.members(of: value)) ?? []
                    for (name, value) in members { headers[name] = try? JSONScanner.string(value) }
                default: continue
                }
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
                list: invocation.streamIDs.map { id in
                    var bytes: [UInt8] = []
                    JSONText.append(id, to: &bytes)
                    return bytes[...]
                }
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
            var object = Array("{".utf8)
            for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
                if object.count > 1 { object.append(UInt8(ascii: ",")) }
                JSONText.append(name, to: &object)
                object.append(UInt8(ascii: ":"))
                JSONText.append(value, to: &object)
            }
            add("headers", (object + Array("}".utf8))[...])
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
        JSONText.append(text, to: &bytes)
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
