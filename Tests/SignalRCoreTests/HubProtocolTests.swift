import SignalRCore
import TestSupport
import TestTraits
import Testing

@Suite(.limited) struct HubProtocolTests {
    static let protocols = [HubProtocol.json, .messagePack]

    @Test(arguments: Vector.json) func readsJSON(_ vector: Vector) throws {
        var reader = HubFrameReader(.json)
        #expect(try reader.messages(.json, vector.bytes) == [vector.message])
    }

    @Test(arguments: Vector.json.filter(\.isWritten)) func writesJSON(_ vector: Vector) {
        #expect(String(decoding: HubProtocol.json.encode(vector.message).dropLast(), as: UTF8.self) == vector.name)
    }

    @Test(arguments: Vector.messagePack) func readsMessagePack(_ vector: Vector) throws {
        var reader = HubFrameReader(.messagePack)
        #expect(try reader.messages(.messagePack, vector.bytes) == [vector.message])
    }

    @Test(arguments: Vector.messagePack.filter(\.isWritten)) func writesMessagePack(_ vector: Vector) {
        #expect(HubProtocol.messagePack.encode(vector.message) == vector.bytes)
    }

    @Test(arguments: protocols) func everyPrefixOfAFrameIsIncomplete(_ hubProtocol: HubProtocol) throws {
        for vector in Vector.all(hubProtocol) {
            for count in 0..<vector.bytes.count {
                var reader = HubFrameReader(hubProtocol)
                #expect(try reader.messages(hubProtocol, vector.bytes.prefix(count)) == [])
                #expect(try reader.messages(hubProtocol, vector.bytes.dropFirst(count)) == [vector.message])
            }
        }
    }

    /// Expects that the incomplete body of a frame leads to an error of the protocol, not to a trap.
    @Test(arguments: protocols) func everyBodyCutShortIsAnError(_ hubProtocol: HubProtocol) throws {
        for vector in Vector.all(hubProtocol) {
            let body = hubProtocol.isBinary ? vector.bytes.dropFirst() : vector.bytes.dropLast()
            let text = body.trimmingSpaces
            for count in 0..<text.count {
                // The decoder does not read the last values of these messages, so a message without the values can be
                // valid.
                if hubProtocol.isBinary, [.ping, .close(error: nil, allowReconnect: false)].contains(vector.message) {
                    continue
                }
                #expect(throws: HubProtocolViolation.self) { try hubProtocol.decode(text.prefix(count)) }
            }
        }
    }

    @Test(arguments: protocols) func framesMayBeMergedAndCutAnywhere(_ hubProtocol: HubProtocol) throws {
        let vectors = Vector.all(hubProtocol)
        let bytes = vectors.flatMap(\.bytes)
        let messages = vectors.map(\.message)
        for cut in 0...bytes.count {
            var reader = HubFrameReader(hubProtocol)
            let first = try reader.messages(hubProtocol, bytes.prefix(cut))
            #expect(try first + reader.messages(hubProtocol, bytes.dropFirst(cut)) == messages)
        }
        var reader = HubFrameReader(hubProtocol)
        #expect(try bytes.flatMap { try reader.messages(hubProtocol, [$0]) } == messages)
    }

    @Test func membersComeInAnyOrder() throws {
        let members = [
            #""type":1"#, #""invocationId":"7""#, #""target":"T""#, #""arguments":[1,{"b":"}]"}]"#,
            #""streamIds":["a","b"]"#,
        ]
        let expected = HubMessage.invocation(
            HubInvocation(id: "7", target: "T", arguments: ["1", #"{"b":"}]"}"#].map(json), streamIDs: ["a", "b"])
        )
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<120 {
            let text = "{" + members.shuffled(using: &generator).joined(separator: ",") + "}"
            #expect(try HubProtocol.json.decode(json(text)) == expected)
        }
    }

    @Test func unknownTypesAreIgnored() throws {
        #expect(try HubProtocol.json.decode(json(#"{"type":10,"x":[]}"#)) == nil)
        #expect(try HubProtocol.json.decode(json(#"{"type":18446744073709551615}"#)) == nil)
        #expect(try HubProtocol.messagePack.decode(hex("92 0a c1")[...]) == nil)
        var reader = HubFrameReader(.json)
        #expect(try reader.messages(.json, #"{"type":99}"#.utf8 + [0x1E] + #"{"type":6}"#.utf8 + [0x1E]) == [.ping])
    }

    @Test(arguments: [
        "", " ", "null", "[]", "{", "{}", #"{"type":"1"}"#, #"{"type":-1}"#, #"{"type":1.5}"#, #"{"type":1}"#,
        #"{"type":1,"target":"x"}"#, #"{"type":1,"arguments":[]}"#, #"{"type":1,"target":7,"arguments":[]}"#,
        #"{"type":1,"target":"x","arguments":{}}"#, #"{"type":1,"target":"x","arguments":[1,]}"#,
        #"{"type":1,"target":"x","arguments":[tru]}"#, #"{"type":1,"target":"x","arguments":[01]}"#,
        #"{"type":1,"target":"x","arguments":[1.]}"#, #"{"type":1,"target":"x","arguments":[1e]}"#,
        #"{"type":1,"target":"x","arguments":[-]}"#, #"{"type":1,"target":"x","arguments":[[}]}"#,
        #"{"type":1,"target":"x","arguments":[{"a"}]}"#, #"{"type":1,"target":"x","arguments":[{1:2}]}"#,
        #"{"type":1,"target":"\x","arguments":[]}"#, #"{"type":1,"target":"\u12","arguments":[]}"#,
        #"{"type":1,"target":"\u+12a","arguments":[]}"#, #"{"type":1,"target":"\u-000","arguments":[]}"#,
        #"{"type":1,"target":"\u12+4","arguments":[]}"#, "{\"type\":6,\"a\":\"\n\"}", #"{"type":6}}"#, #"{"type":6},"#,
        #"{"type":2,"invocationId":"1"}"#, #"{"type":2,"item":1}"#, #"{"type":3,"invocationId":null}"#,
        #"{"type":3,"invocationId":3}"#, #"{"type":5}"#, #"{"type":8}"#, #"{"type":9,"sequenceId":-1}"#,
        #"{"type":8,"sequenceId":18446744073709551616}"#, #"{"type":3,"invocationId":"1","error":7}"#,
        #"{"type":4,"target":"x","arguments":[]}"#, #"{"type":4,"invocationId":"","target":"x","arguments":[]}"#,
        #"{"type":1 "target":"x"}"#, #"{"a":"\"#,
    ]) func malformedJSONIsAnError(_ text: String) {
        #expect(throws: HubProtocolViolation.self) { try HubProtocol.json.decode(json(text)) }
    }

    @Test(arguments: [
        "", "c0", "2a", "90", "91 a1 31", "91 ff", "91 01", "95 01 80 c0 a1 78", "96 01 81 01 a0 c0 a1 78 90 90",
        "96 01 80 07 a1 78 90 90", "96 01 80 c0 c0 90 90", "96 01 80 c0 a1 78 80 90", "96 01 80 c0 a1 78 91 c1 90",
        "96 01 80 c0 a1 78 dd ff ff ff ff", "96 04 80 c0 a1 78 90 90", "96 04 80 a0 a1 78 90 90", "94 02 80 a1 78",
        "94 02 80 c0 2a",
        "94 03 80 a1 78 04", "95 03 80 a1 78 01 2a", "95 03 80 a1 78 03", "93 05 80 c0", "92 07 07", "93 07 c0 07",
        "92 08 ff", "92 09 a1 31", "96 01 80 c0 a1 78 90 91 07", "96 01 80 c0 a2 c3 28 90 90",
    ]) func malformedMessagePackIsAnError(_ text: String) {
        #expect(throws: HubProtocolViolation.self) { try HubProtocol.messagePack.decode(hex(text)[...]) }
    }

    @Test func jsonThatIsNestedTooDeepIsAnError() throws {
        func nested(_ depth: Int) -> EncodedValue {
            json(#"{"type":6,"x":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}")
        }
        #expect(try HubProtocol.json.decode(nested(511)) == .ping)
        #expect(throws: HubProtocolViolation.self) { try HubProtocol.json.decode(nested(100_000)) }
    }

    // MARK: Frames

    @Test(arguments: [
        (0, "00"), (127, "7f"), (128, "80 01"), (5248, "80 29"), (16_383, "ff 7f"), (16_384, "80 80 01"),
        (2_097_151, "ff ff 7f"), (2_097_152, "80 80 80 01"),
    ]) func lengthsHaveSevenBitsInAByte(length: Int, text: String) throws {
        var reader = HubFrameReader(.messagePack, limit: 1 << 22)
        let body = [UInt8](repeating: 1, count: length)
        reader.append(hex(text) + body)
        #expect(try reader.next().map(Array.init) == body)
        #expect(try reader.next() == nil)
        // The frame contains a stream item. Besides the item, the message has five bytes.
        guard length >= 5 else { return }
        let item = [UInt8](repeating: 0xC0, count: length - 5)[...]
        let frame = HubProtocol.messagePack.encode(.streamItem(id: "1", item: item))
        #expect(frame.count == hex(text).count + length && frame.starts(with: hex(text)))
    }

    @Test func mergedBinaryFramesAreCutByTheirLengths() throws {
        var reader = HubFrameReader(.messagePack)
        reader.append(hex("0b 48 65 6c 6c 6f 0a 57 6f 72 6c 64 02 01 02"))
        #expect(try reader.next().map(Array.init) == Array("Hello\nWorld".utf8))
        #expect(try reader.next().map(Array.init) == [1, 2])
        #expect(try reader.next() == nil)
    }

    @Test(arguments: ["ff ff ff ff 08", "80 80 80 80 80 01", "ff ff ff ff ff ff", "ff ff ff ff 07", "81 80 80 01"])
    func lengthsThatAreTooLargeAreAnErrorAtOnce(_ text: String) {
        var reader = HubFrameReader(.messagePack, limit: 1 << 21)
        reader.append(hex(text))
        #expect(throws: HubProtocolViolation.self) { try reader.next() }
    }

    @Test func textWithoutASeparatorIsBounded() throws {
        var reader = HubFrameReader(.json, limit: 1000)
        reader.append([UInt8](repeating: 0x20, count: 1000))
        #expect(try reader.next() == nil)
        reader.append([0x20])
        #expect(throws: HubProtocolViolation.self) { try reader.next() }
    }

    @Test(arguments: protocols, 1...100) func damagedFramesNeverTrap(_ hubProtocol: HubProtocol, seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let bytes = Vector.all(hubProtocol).flatMap(\.bytes)
        for _ in 0..<20 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...5, using: &generator) {
                let index = Int.random(in: 0..<damaged.count, using: &generator)
                if generator.oneIn(3) {
                    damaged.remove(at: index)
                } else {
                    damaged[index] = .random(in: 0...255, using: &generator)
                }
            }
            var reader = HubFrameReader(hubProtocol)
            let messages = (try? reader.messages(hubProtocol, damaged)) ?? []
            // If the protocol encodes a message and decodes the result, the two messages are equal.
            for message in messages {
                var copy = HubFrameReader(hubProtocol)
                #expect((try? copy.messages(hubProtocol, hubProtocol.encode(message))) == [message])
            }
        }
    }
}

extension ArraySlice<UInt8> {
    var trimmingSpaces: Self {
        let start = drop { $0 == 0x20 }
        return start.dropLast(start.reversed().prefix { $0 == 0x20 }.count)
    }
}
