import AsyncHTTPClient
import Foundation
import NIOCore
import ServerSentEvents
import Workload

/// The cost of an event of an event stream: the client, its parser alone, and a reference that only counts the bytes of
/// the response.
struct EventStreams {
    let arguments: Arguments

    private var load: StreamLoad {
        StreamLoad(size: arguments.number("size", default: 169), events: arguments.number("events", default: 100_000))
    }

    private var url: String { "http://\(arguments.target.host):\(arguments.target.port)\(load.path)" }

    func run() async throws -> [String: Double] {
        switch arguments.implementation {
        case "client": try await client()
        case "typed": try await typed(decoder: nil)
        case "typed-json-decoder": try await typed(decoder: JSONDecoder())
        case "parser": try parser()
        case "byte-counter": try await byteCounter()
        case "one-line": try oneLine()
        case let other: throw SubjectError("there is no event stream via \(other)")
        }
    }

    private var once: EventStreamOptions {
        var options = EventStreamOptions()
        options.reconnection = .never
        return options
    }

    private func client() async throws -> [String: Double] {
        let start = ProcessUsage.now
        var count = 0
        let stream = EventStream(url, options: once)
        for try await event in stream.events {
            use(event.data.utf8.count)
            count += 1
        }
        return try perEvent(since: start, count)
    }

    private func typed(decoder: JSONDecoder?) async throws -> [String: Double] {
        let start = ProcessUsage.now
        var count = 0
        let stream = EventStream(url, options: once)
        for try await value in stream.events(as: Payload.Orders.self, decoder: decoder) {
            use(value.orders.count)
            count += 1
        }
        return try perEvent(since: start, count)
    }

    private func byteCounter() async throws -> [String: Double] {
        let start = ProcessUsage.now
        var bytes = 0
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .minutes(5))
        for try await chunk in response.body { bytes += chunk.readableBytes }
        return try perEvent(since: start, bytes / load.size)
    }

    private func parser() throws -> [String: Double] {
        let block = Array(String(repeating: load.event, count: load.eventsPerBlock).utf8)
        var parser = EventStreamParser()
        var count = 0
        let start = ProcessUsage.now
        for _ in 0..<load.blocks { count += try Self.read(block, chunk: block.count, &parser) }
        return try perEvent(since: start, count)
    }

    /// One event of this many bytes, in chunks of 100.
    private func oneLine() throws -> [String: Double] {
        let size = arguments.number("size")
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 100)
        var parser = EventStreamParser(limit: size * 2)
        let start = ProcessUsage.now
        var count = try Self.read(Array("data:".utf8), chunk: 100, &parser)
        for _ in 0..<(size / 100) { count += try Self.read(chunk, chunk: 100, &parser) }
        count += try Self.read(Array("\n\n".utf8), chunk: 100, &parser)
        let usage = ProcessUsage.now - start
        guard count == 1 else { throw SubjectError("\(count) events have come, and not one") }
        return usage.values(per: 1)
    }

    private static func read(_ bytes: [UInt8], chunk: Int, _ parser: inout EventStreamParser) throws -> Int {
        var count = 0
        try bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = min(start + chunk, bytes.count)
                while start < end {
                    let (length, element) = try parser.read(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                    start += length
                    if case .event(let event)? = element {
                        use(event.data.utf8.count)
                        count += 1
                    }
                }
            }
        }
        return count
    }

    private func perEvent(since start: ProcessUsage, _ count: Int) throws -> [String: Double] {
        let usage = ProcessUsage.now - start
        guard count == load.total else { throw SubjectError("\(count) events have come, and not \(load.total)") }
        return usage.values(per: Double(count))
    }
}
