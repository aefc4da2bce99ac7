import SignalRCore
import Testing

/// Parses hexadecimal digits, with spaces for readability.
func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { $0 != " " }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func json(_ text: String) -> EncodedValue { Array(text.utf8)[...] }

/// A frame of one protocol, and the message that it encodes.
struct Vector: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: [UInt8]
    var message: HubMessage
    /// Whether the client writes the message in this form. The client also reads other forms.
    var isWritten: Bool

    var testDescription: String { name }

    /// Makes a vector from JSON without its separator.
    static func json(_ text: String, _ message: HubMessage, isWritten: Bool = true) -> Vector {
        Vector(name: text, bytes: Array(text.utf8) + [0x1E], message: message, isWritten: isWritten)
    }

    static func messagePack(_ name: String, _ text: String, _ message: HubMessage, isWritten: Bool = true) -> Vector {
        Vector(name: name, bytes: hex(text), message: message, isWritten: isWritten)
    }

    static let json: [Vector] = [
        .json(
            #"{"type":1,"invocationId":"123","target":"Send","arguments":[42,"Test Message"]}"#,
            .invocation(
                HubInvocation(
                    id: "123",
                    target: "Send",
                    arguments: ["42", "\"Test Message\""].map(SignalRCoreTests.json)
                )
            )
        ),
        .json(
            #"{"type":1,"target":"Send","arguments":[42]}"#,
            .invocation(HubInvocation(target: "Send", arguments: [SignalRCoreTests.json("42")]))
        ),
        .json(
            #"{"type":1,"invocationId":"123","target":"Send","arguments":[42],"streamIds":["1"]}"#,
            .invocation(
                HubInvocation(id: "123", target: "Send", arguments: [SignalRCoreTests.json("42")], streamIDs: ["1"])
            )
        ),
        .json(
            #"{"type":4,"invocationId":"123","target":"Stream","arguments":[5]}"#,
            .streamInvocation(HubInvocation(id: "123", target: "Stream", arguments: [SignalRCoreTests.json("5")]))
        ),
        .json(
            #"{"type":2,"invocationId":"123","item":42}"#,
            .streamItem(id: "123", item: SignalRCoreTests.json("42"))
        ),
        .json(
            #"{"type":2,"invocationId":"123","item":null}"#,
            .streamItem(id: "123", item: SignalRCoreTests.json("null"))
        ),
        .json(#"{"type":3,"invocationId":"123"}"#, .completion(id: "123", .void)),
        .json(
            #"{"type":3,"invocationId":"123","result":42}"#,
            .completion(id: "123", .value(SignalRCoreTests.json("42")))
        ),
        .json(
            #"{"type":3,"invocationId":"123","result":null}"#,
            .completion(id: "123", .value(SignalRCoreTests.json("null")))
        ),
        .json(
            #"{"type":3,"invocationId":"123","error":"It didn't work!"}"#,
            .completion(id: "123", .error("It didn't work!"))
        ),
        .json(#"{"type":5,"invocationId":"123"}"#, .cancelInvocation(id: "123")),
        .json(#"{"type":6}"#, .ping),
        .json(#"{"type":7}"#, .close(error: nil, allowReconnect: false)),
        .json(
            #"{"type":7,"error":"Connection closed because of an error!","allowReconnect":true}"#,
            .close(error: "Connection closed because of an error!", allowReconnect: true)
        ),
        .json(#"{"type":8,"sequenceId":1394}"#, .ack(1394)),
        .json(#"{"type":9,"sequenceId":1234}"#, .sequence(1234)),
        .json(
            #"{"type":1,"headers":{"Foo":"Bar"},"invocationId":"123","target":"Send","arguments":[]}"#,
            .invocation(HubInvocation(id: "123", target: "Send", headers: ["Foo": "Bar"]))
        ),
        // This JSON has another order of members, unknown members, white space, escapes and an empty id.
        .json(
            #" { "arguments" : [ {"a":[1,{}]} , "x\u001ey" ] , "future" : [[{"type":6}]], "target" : "S\u0065nd\n😀" , "type" : 1 } "#,
            .invocation(
                HubInvocation(
                    target: "Send\n\u{1F600}",
                    arguments: [#"{"a":[1,{}]}"#, #""x\u001ey""#].map(SignalRCoreTests.json)
                )
            ),
            isWritten: false
        ),
        .json(
            #"{"arguments":[],"target":"\ud83d\ude00\/","invocationId":"","streamIds":null,"type":1}"#,
            .invocation(HubInvocation(target: "\u{1F600}/")),
            isWritten: false
        ),
        .json(
            #"{"result":1,"error":"wins","invocationId":"1","type":3}"#,
            .completion(id: "1", .error("wins")),
            isWritten: false
        ),
        .json(#"{"type":3,"error":null,"invocationId":"1"}"#, .completion(id: "1", .void), isWritten: false),
        .json(#"{"headers":7,"type":6}"#, .ping, isWritten: false),
    ]

    static let messagePack: [Vector] = [
        .messagePack(
            "invocation",
            "11 96 01 80 a3 78 79 7a a6 6d 65 74 68 6f 64 91 2a 90",
            .invocation(HubInvocation(id: "xyz", target: "method", arguments: [[42]]))
        ),
        .messagePack(
            "invocation without an answer",
            "0e 96 01 80 c0 a6 6d 65 74 68 6f 64 91 2a 90",
            .invocation(HubInvocation(target: "method", arguments: [[42]]))
        ),
        .messagePack(
            "invocation without stream ids",
            "0d 95 01 80 c0 a6 6d 65 74 68 6f 64 91 2a",
            .invocation(HubInvocation(target: "method", arguments: [[42]])),
            isWritten: false
        ),
        .messagePack(
            "invocation with headers",
            "19 96 01 82 a1 78 a1 79 a1 7a a1 7a a3 78 79 7a a6 6d 65 74 68 6f 64 91 2a 90",
            .invocation(HubInvocation(id: "xyz", target: "method", arguments: [[42]], headers: ["x": "y", "z": "z"]))
        ),
        .messagePack(
            "invocation with a stream",
            "13 96 01 80 a1 32 a9 41 64 64 53 74 72 65 61 6d 90 91 a1 31",
            .invocation(HubInvocation(id: "2", target: "AddStream", streamIDs: ["1"]))
        ),
        .messagePack(
            "stream invocation",
            "11 96 04 80 a3 78 79 7a a6 6d 65 74 68 6f 64 91 2a 90",
            .streamInvocation(HubInvocation(id: "xyz", target: "method", arguments: [[42]]))
        ),
        .messagePack("stream item", "08 94 02 80 a3 78 79 7a 2a", .streamItem(id: "xyz", item: [42])),
        .messagePack("stream item nil", "08 94 02 80 a3 78 79 7a c0", .streamItem(id: "xyz", item: [0xC0])),
        .messagePack(
            "completion with an error",
            "0e 95 03 80 a3 78 79 7a 01 a5 45 72 72 6f 72",
            .completion(id: "xyz", .error("Error"))
        ),
        .messagePack("completion without a result", "08 94 03 80 a3 78 79 7a 02", .completion(id: "xyz", .void)),
        .messagePack("completion", "09 95 03 80 a3 78 79 7a 03 2a", .completion(id: "xyz", .value([42]))),
        .messagePack("completion nil", "09 95 03 80 a3 78 79 7a 03 c0", .completion(id: "xyz", .value([0xC0]))),
        .messagePack("cancel invocation", "07 93 05 80 a3 78 79 7a", .cancelInvocation(id: "xyz")),
        .messagePack("ping", "02 91 06", .ping),
        .messagePack(
            "close with an error",
            "06 92 07 a3 78 79 7a",
            .close(error: "xyz", allowReconnect: false),
            isWritten: false
        ),
        .messagePack("close", "04 93 07 c0 c2", .close(error: nil, allowReconnect: false)),
        .messagePack("close with reconnect", "07 93 07 a3 78 79 7a c3", .close(error: "xyz", allowReconnect: true)),
        .messagePack("close alone", "02 91 07", .close(error: nil, allowReconnect: false), isWritten: false),
        .messagePack("ack", "04 92 08 cc 24", .ack(36), isWritten: false),
        .messagePack("ack in one byte", "03 92 08 24", .ack(36)),
        .messagePack("sequence", "04 92 09 cc 13", .sequence(19), isWritten: false),
        .messagePack("sequence of 64 bits", "0b 92 09 cf 00 00 00 01 00 00 00 00", .sequence(4_294_967_296)),
        .messagePack("more values than known", "09 94 06 a1 78 93 01 02 03 c0", .ping, isWritten: false),
        .messagePack("wide type", "0a 91 cf 00 00 00 00 00 00 00 06", .ping, isWritten: false),
    ]

    static func all(_ hubProtocol: HubProtocol) -> [Vector] { hubProtocol.isBinary ? messagePack : json }
}

extension HubFrameReader {
    /// Creates a reader in the state after the handshake.
    init(_ hubProtocol: HubProtocol, limit: Int = 1 << 20) {
        self.init(limit: limit)
        begin(hubProtocol)
    }

    /// Returns all complete messages.
    mutating func messages(_ hubProtocol: HubProtocol, _ bytes: some Collection<UInt8>) throws -> [HubMessage] {
        append(Array(bytes))
        var messages: [HubMessage] = []
        while let frame = try next() {
            if let message = try hubProtocol.decode(frame) { messages.append(message) }
        }
        return messages
    }
}
