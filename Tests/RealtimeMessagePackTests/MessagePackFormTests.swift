import Foundation
import RealtimeMessagePack
import TestSupport
import TestTraits
import Testing

/// Tests that write and read the forms of the specification, without `Codable`.
@Suite(.limited) struct MessagePackFormTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        var bytes: [UInt8]
        var header: MessagePackHeader
        /// Whether the form is the shortest form for the value. The writer uses only shortest forms.
        var isShortest = true

        var testDescription: String { "\(header)" }

        init(_ text: String, _ header: MessagePackHeader, isShortest: Bool = true) {
            bytes = hex(text)
            self.header = header
            self.isShortest = isShortest
        }
    }

    static let scalars: [Vector] = [
        Vector("c0", .nil), Vector("c2", .bool(false)), Vector("c3", .bool(true)),
        Vector("00", .unsigned(0)), Vector("7f", .unsigned(127)), Vector("cc 80", .unsigned(128)),
        Vector("cc ff", .unsigned(255)), Vector("cd 01 00", .unsigned(256)), Vector("cd ff ff", .unsigned(65_535)),
        Vector("ce 00 01 00 00", .unsigned(65_536)), Vector("ce ff ff ff ff", .unsigned(4_294_967_295)),
        Vector("cf 00 00 00 01 00 00 00 00", .unsigned(4_294_967_296)),
        Vector("cf ff ff ff ff ff ff ff ff", .unsigned(.max)),
        Vector("ff", .negative(-1)), Vector("e0", .negative(-32)), Vector("d0 df", .negative(-33)),
        Vector("d0 80", .negative(-128)), Vector("d1 ff 7f", .negative(-129)), Vector("d1 80 00", .negative(-32_768)),
        Vector("d2 ff ff 7f ff", .negative(-32_769)), Vector("d2 80 00 00 00", .negative(-2_147_483_648)),
        Vector("d3 ff ff ff ff 7f ff ff ff", .negative(-2_147_483_649)),
        Vector("d3 80 00 00 00 00 00 00 00", .negative(.min)),
        Vector("d3 00 00 00 00 00 00 00 7f", .unsigned(127), isShortest: false),
        Vector("cf 00 00 00 00 00 00 00 24", .unsigned(36), isShortest: false),
        Vector("d1 00 01", .unsigned(1), isShortest: false),
        Vector("cb 3f f8 00 00 00 00 00 00", .double(1.5)), Vector("ca 3f c0 00 00", .float(1.5)),
    ]

    @Test(arguments: scalars) func readsScalars(_ vector: Vector) throws {
        var reader = MessagePackReader(vector.bytes)
        #expect(try reader.readHeader() == vector.header)
        #expect(reader.isAtEnd)
    }

    @Test(arguments: scalars.filter(\.isShortest)) func writesScalars(_ vector: Vector) {
        var writer = MessagePackWriter()
        switch vector.header {
        case .nil: writer.writeNil()
        case .bool(let value): writer.write(value)
        case .unsigned(let value): writer.write(value)
        case .negative(let value): writer.write(value)
        case .float(let value): writer.write(value)
        case .double(let value): writer.write(value)
        case .string, .binary, .array, .map, .ext: Issue.record("It is not a scalar.")
        }
        #expect(writer.bytes == vector.bytes)
    }

    @Test(arguments: [
        (0, "a0"), (1, "a1"), (31, "bf"), (32, "d9 20"), (255, "d9 ff"), (256, "da 01 00"), (65_535, "da ff ff"),
        (65_536, "db 00 01 00 00"),
    ]) func takesTheShortestFormOfStrings(count: Int, header: String) throws {
        let text = String(repeating: "a", count: count)
        var writer = MessagePackWriter()
        writer.write(text)
        #expect(writer.bytes == hex(header) + Array(text.utf8))
        var reader = MessagePackReader(writer.bytes)
        #expect(try reader.readString() == text)
    }

    @Test(arguments: [(0, "c4 00"), (2, "c4 02"), (256, "c5 01 00"), (65_536, "c6 00 01 00 00")])
    func takesTheShortestFormOfData(count: Int, header: String) throws {
        let data = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var writer = MessagePackWriter()
        writer.writeBinary(data)
        #expect(writer.bytes == hex(header) + data)
        var reader = MessagePackReader(writer.bytes)
        #expect(try Array(reader.readBinary()) == data)
    }

    @Test(arguments: [
        (0, "90", "80"), (15, "9f", "8f"), (16, "dc 00 10", "de 00 10"),
        (65_536, "dd 00 01 00 00", "df 00 01 00 00"),
    ]) func takesTheShortestFormOfContainers(count: Int, array: String, map: String) throws {
        var writer = MessagePackWriter()
        writer.writeArrayHeader(count)
        writer.writeMapHeader(count)
        #expect(writer.bytes == hex(array) + hex(map))
        var reader = MessagePackReader(writer.bytes)
        #expect(try reader.readArrayCount() == count)
        #expect(try reader.readMapCount() == count)
    }

    @Test(arguments: [
        (1, "d4 05"), (2, "d5 05"), (4, "d6 05"), (8, "d7 05"), (16, "d8 05"), (0, "c7 00 05"), (3, "c7 03 05"),
        (256, "c8 01 00 05"), (65_536, "c9 00 01 00 00 05"),
    ]) func takesTheShortestFormOfExtensions(count: Int, header: String) throws {
        let data = [UInt8](repeating: 7, count: count)
        var writer = MessagePackWriter()
        writer.writeExtension(type: 5, data)
        #expect(writer.bytes == hex(header) + data)
        var reader = MessagePackReader(writer.bytes)
        let (type, bytes) = try reader.readExtension()
        #expect(type == 5 && Array(bytes) == data)
    }

    @Test(
        arguments: [
            (0, 0, "d6 ff 00000000"), (1, 0, "d6 ff 00000001"), (1, 1, "d7 ff 00000004 00000001"),
            (4_294_967_296, 0, "d7 ff 00000001 00000000"), (-1, 0, "c7 0c ff 00000000 ffffffffffffffff"),
            (17_179_869_184, 999_999_999, "c7 0c ff 3b9ac9ff 0000000400000000"),
        ] as [(Int64, UInt32, String)]
    )
    func readsAndWritesTimestamps(seconds: Int64, nanoseconds: UInt32, text: String) throws {
        let time = MessagePackTimestamp(seconds: seconds, nanoseconds: nanoseconds)
        var writer = MessagePackWriter()
        writer.writeExtension(type: MessagePackTimestamp.extensionType, time.extensionBytes)
        #expect(writer.bytes == hex(text))
        var reader = MessagePackReader(hex(text))
        let (type, bytes) = try reader.readExtension()
        #expect(type == -1 && MessagePackTimestamp(extensionBytes: bytes) == time)
    }

    @Test func timestampsWithTooManyNanosecondsAreInvalid() {
        #expect(MessagePackTimestamp(extensionBytes: hex("ee6b2800 00000000")[...]) == nil)
        #expect(MessagePackTimestamp(extensionBytes: hex("3b9aca00 0000000000000000")[...]) == nil)
        #expect(MessagePackTimestamp(extensionBytes: hex("00 00 00")[...]) == nil)
    }

    @Test func theByteC1IsNoValue() {
        var reader = MessagePackReader(hex("c1"))
        #expect(throws: MessagePackError.invalidByte(0xC1)) { try reader.readHeader() }
    }

    @Test func readsNumbersOfAnyFormIfTheyFit() throws {
        func integer<T: FixedWidthInteger>(_ text: String, as: T.Type) throws -> T {
            var reader = MessagePackReader(hex(text))
            return try reader.readInteger()
        }
        #expect(try integer("d3 00 00 00 00 00 00 00 7f", as: Int8.self) == 127)
        #expect(try integer("cb 40 45 00 00 00 00 00 00", as: Int.self) == 42)
        #expect(throws: MessagePackError.outOfRange) { try integer("cc 80", as: Int8.self) }
        #expect(throws: MessagePackError.outOfRange) { try integer("ff", as: UInt64.self) }
        #expect(throws: MessagePackError.outOfRange) { try integer("cb 3f f8 00 00 00 00 00 00", as: Int.self) }
        #expect(throws: MessagePackError.outOfRange) { try integer("cb 7f f8 00 00 00 00 00 00", as: Int.self) }
    }

    @Test(arguments: [
        "c4 ff", "c6 ff ff ff ff", "db ff ff ff ff 61", "c9 ff ff ff ff 01", "dd ff ff ff ff 01", "df ff ff ff ff",
    ])
    func hugeLengthsAreTruncatedValues(_ text: String) {
        var reader = MessagePackReader(hex(text))
        #expect(throws: MessagePackError.truncated) { try reader.skip() }
    }

    @Test func skipsWhatIsNestedVeryDeep() throws {
        var reader = MessagePackReader([UInt8](repeating: 0x91, count: 1_000_000) + [0xC0])
        try reader.skip()
        #expect(reader.isAtEnd)
    }

    @Test func textsHaveToBeUTF8() {
        var reader = MessagePackReader(hex("a2 c3 28"))
        #expect(throws: MessagePackError.invalidText) { try reader.readString() }
    }

    @Test(arguments: 1...200) func randomBytesNeverTrap(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            var reader = MessagePackReader(bytes)
            let isWhole = (try? reader.skip()) != nil
            // The reader must never read beyond the end.
            #expect(reader.position <= bytes.count && (isWhole || !bytes.isEmpty || reader.isAtEnd))
            _ = try? MessagePackDecoder().decode(CodableSample.self, from: bytes[...])
            _ = try? MessagePackDecoder().decode([String: [Date?]].self, from: bytes[...])
        }
    }
}
