import RealtimeMessagePack

/// The encoding of messages as MessagePack arrays. The decoder skips additional values of an array.
enum MessagePackHubProtocol {
    // MARK: Decoding

    static func decode(_ body: ArraySlice<UInt8>) throws(HubProtocolViolation) -> HubMessage? {
        do throws(MessagePackError) {
            return try message(body)
        } catch {
            throw HubProtocolViolation("a message is not valid: \(error)")
        }
    }

    private static func message(_ body: ArraySlice<UInt8>) throws(MessagePackError) -> HubMessage? {
        var reader = MessagePackReader(body)
        let count = try reader.readArrayCount()
        guard let kind = HubMessage.Kind(rawValue: try reader.readInteger()) else { return nil }
        switch kind {
        case .invocation: return .invocation(try invocation(&reader, count: count, needsID: false))
        case .streamInvocation: return .streamInvocation(try invocation(&reader, count: count, needsID: true))
        case .streamItem:
            let headers = try headers(&reader)
            return .streamItem(id: try reader.readString(), item: try reader.readValue(), headers: headers)
        case .completion:
            let headers = try headers(&reader)
            return .completion(id: try reader.readString(), try outcome(&reader), headers: headers)
        case .cancelInvocation:
            let headers = try headers(&reader)
            return .cancelInvocation(id: try reader.readString(), headers: headers)
        case .ping: return .ping
        case .close:
            let error = count < 2 || reader.readNil() ? nil : try reader.readString()
            return .close(error: error, allowReconnect: count < 3 || reader.readNil() ? false : try reader.readBool())
        case .ack: return .ack(try reader.readInteger())
        case .sequence: return .sequence(try reader.readInteger())
        }
    }

    private static func invocation(
        _ reader: inout MessagePackReader,
        count: Int,
        needsID: Bool
    ) throws(MessagePackError) -> HubInvocation {
        var invocation = HubInvocation(target: "")
        invocation.headers = try headers(&reader)
        let id = !needsID && reader.readNil() ? nil : try reader.readString()
        invocation.id = id?.isEmpty == true ? nil : id
        if needsID, invocation.id == nil { throw .unexpected(.string(0), expected: "an id") }
        invocation.target = try reader.readString()
        for _ in 0..<(try reader.readArrayCount()) { invocation.arguments.append(try reader.readValue()) }
        // Older servers and clients omit the ids of streams.
        if count > 5, !reader.readNil() {
            for _ in 0..<(try reader.readArrayCount()) { invocation.streamIDs.append(try reader.readString()) }
        }
        return invocation
    }

    private static func outcome(_ reader: inout MessagePackReader) throws(MessagePackError) -> HubOutcome {
        switch try reader.readInteger(as: UInt64.self) {
        case 1: return .error(try reader.readString())
        case 2: return .void
        case 3: return .value(try reader.readValue())
        default: throw .outOfRange
        }
    }

    private static func headers(_ reader: inout MessagePackReader) throws(MessagePackError) -> [String: String] {
        var headers: [String: String] = [:]
        if reader.readNil() { return headers }
        for _ in 0..<(try reader.readMapCount()) {
            let name = try reader.readString()
            headers[name] = try reader.readString()
        }
        return headers
    }

    // MARK: Encoding

    static func encode(_ message: HubMessage) -> [UInt8] {
        var writer = MessagePackWriter()
        switch message {
        case .invocation(let invocation): write(invocation, .invocation, to: &writer)
        case .streamInvocation(let invocation): write(invocation, .streamInvocation, to: &writer)
        case .streamItem(let id, let item, let headers):
            writeStart(.streamItem, count: 4, headers, to: &writer)
            writer.write(id)
            writer.writeEncoded(item)
        case .completion(let id, let outcome, let headers):
            writeStart(.completion, count: outcome == .void ? 4 : 5, headers, to: &writer)
            writer.write(id)
            switch outcome {
            case .error(let text):
                writer.write(1)
                writer.write(text)
            case .void: writer.write(2)
            case .value(let value):
                writer.write(3)
                writer.writeEncoded(value)
            }
        case .cancelInvocation(let id, let headers):
            writeStart(.cancelInvocation, count: 3, headers, to: &writer)
            writer.write(id)
        case .ping: writeStart(.ping, count: 1, nil, to: &writer)
        case .close(let error, let allowReconnect):
            writeStart(.close, count: 3, nil, to: &writer)
            if let error { writer.write(error) } else { writer.writeNil() }
            writer.write(allowReconnect)
        case .ack(let id):
            writeStart(.ack, count: 2, nil, to: &writer)
            writer.write(id)
        case .sequence(let id):
            writeStart(.sequence, count: 2, nil, to: &writer)
            writer.write(id)
        }
        return VarInt.encode(writer.bytes.count) + writer.bytes
    }

    private static func writeStart(
        _ kind: HubMessage.Kind,
        count: Int,
        _ headers: [String: String]?,
        to writer: inout MessagePackWriter
    ) {
        writer.writeArrayHeader(count)
        writer.write(kind.rawValue)
        guard let headers else { return }
        writer.writeMapHeader(headers.count)
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            writer.write(name)
            writer.write(value)
        }
    }

    private static func write(
        _ invocation: HubInvocation,
        _ kind: HubMessage.Kind,
        to writer: inout MessagePackWriter
    ) {
        writeStart(kind, count: 6, invocation.headers, to: &writer)
        if let id = invocation.id { writer.write(id) } else { writer.writeNil() }
        writer.write(invocation.target)
        writer.writeArrayHeader(invocation.arguments.count)
        for argument in invocation.arguments { writer.writeEncoded(argument) }
        writer.writeArrayHeader(invocation.streamIDs.count)
        for id in invocation.streamIDs { writer.write(id) }
    }
}
