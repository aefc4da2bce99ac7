import EventStreamTestSupport
import Foundation
import ServerSentEvents
import TestTraits
import Testing

@Suite("Vectors of the event stream format", .limited)
struct ParserVectorTests {
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        var name: String
        var chunks: [String]
        var exp: [[String]]
        var lastid: String?
        var retry: Int64?

        var testDescription: String { name }

        var bytes: [[UInt8]] {
            chunks.map { hex in
                stride(from: 0, to: hex.utf8.count, by: 2).compactMap { place in
                    UInt8(hex.dropFirst(place).prefix(2), radix: 16)
                }
            }
        }

        func expectMet(by chunks: [[UInt8]], _ sourceLocation: SourceLocation = #_sourceLocation) {
            let run = ParserRun(chunks)
            #expect(run.events.map { [$0.event, $0.data, $0.id] } == exp, sourceLocation: sourceLocation)
            if let lastid { #expect(run.lastEventID == lastid, sourceLocation: sourceLocation) }
            if let retry { #expect(run.reconnectionTime == retry, sourceLocation: sourceLocation) }
        }
    }

    private static let all: [Vector] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("vectors.json")
        do {
            return try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
        } catch {
            preconditionFailure("vectors.json cannot be read: \(error)")
        }
    }()

    @Test("the file has 46 vectors with different names")
    func count() {
        #expect(Self.all.count == 46)
        #expect(Set(Self.all.map(\.name)).count == 46)
    }

    @Test("the parser reads each vector in its own chunks, as a whole, and byte by byte", arguments: all)
    func chunks(_ vector: Vector) {
        let bytes = vector.bytes
        vector.expectMet(by: bytes)
        vector.expectMet(by: [bytes.flatMap { $0 }])
        vector.expectMet(by: bytes.flatMap { $0 }.bytewise)
    }

    @Test("the parser reads each vector split in two at every byte", arguments: all)
    func cuts(_ vector: Vector) {
        let bytes = vector.bytes.flatMap { $0 }
        for place in 0...bytes.count { vector.expectMet(by: bytes.cut(at: [place])) }
    }
}
