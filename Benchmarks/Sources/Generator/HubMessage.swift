/// A message of a SignalR client, as far as the generator needs it.
struct HubMessage {
    /// The number of the message's type in the protocol.
    var type: UInt8
    /// The id of a call that wants a result; nil for other messages.
    var invocationID: ArraySlice<UInt8>?
    /// Whether items follow the call.
    var hasUploads: Bool
    /// Whether the call requests more calls from the generator.
    var isGoAhead: Bool

    /// Returns the messages of a frame, in JSON or MessagePack.
    static func messages(of frame: [UInt8], isBinary: Bool) -> [HubMessage] {
        isBinary ? binaryMessages(of: frame) : frame.split(separator: 0x1E).compactMap { HubMessage(json: Array($0)) }
    }

    private init?(json message: [UInt8]) {
        guard let digit = message.range(of: #""type":"#)?.upperBound, digit < message.count else { return nil }
        type = message[digit] &- UInt8(ascii: "0")
        invocationID = nil
        if let start = message.range(of: #""invocationId":""#)?.upperBound {
            invocationID = message[start...].prefix { $0 != UInt8(ascii: "\"") }
        }
        hasUploads = message.range(of: #""streamIds":[""#) != nil
        isGoAhead = message.range(of: #""target":"Go""#) != nil
    }

    private static func binaryMessages(of frame: [UInt8]) -> [HubMessage] {
        var messages: [HubMessage] = []
        var rest = frame[...]
        while !rest.isEmpty {
            var (length, shift) = (0, 0)
            while let byte = rest.popFirst() {
                length |= Int(byte & 0x7F) << shift
                shift += 7
                if byte < 0x80 { break }
            }
            let message = rest.prefix(length)
            rest = rest.dropFirst(length)
            HubMessage(messagePack: message).map { messages.append($0) }
        }
        return messages
    }

    /// Reads an array of the message's type, no headers, the id and other elements.
    private init?(messagePack message: ArraySlice<UInt8>) {
        let start = message.startIndex
        guard message.count > 1 else { return nil }
        type = message[start + 1]
        invocationID = nil
        if message.count > 4, message[start + 3] & 0xE0 == 0xA0 {
            invocationID = message[(start + 4)...].prefix(Int(message[start + 3] & 0x1F))
        }
        // The ids of uploads are the sixth element, which not all clients send if it is empty.
        hasUploads = type == 1 && message[start] == 0x96 && message.last != 0x90
        isGoAhead = Array(message).range(of: "Go") != nil
    }
}
