import NIOConcurrencyHelpers
import Testing

/// The output of a program, for which its test waits. It replaces `print` in an example.
final class Journal: Sendable {
    private let lines: AsyncStream<String>
    private let writer: AsyncStream<String>.Continuation
    private let read = NIOLockedValueBox<[String]>([])

    init() { (lines, writer) = AsyncStream.makeStream() }

    /// Writes a line. It may be called on any thread.
    func say(_ line: String) { writer.yield(line) }

    /// Waits until the line has occurred this often. Earlier lines count too.
    func waitFor(_ line: String, count: Int = 1) async {
        await waitUntil("\(line), \(count) times") { lines in lines.count { $0 == line } >= count }
    }

    /// Waits for a line of that kind.
    func waitFor(_ isMeant: @escaping (String) -> Bool) async {
        await waitUntil("a certain line") { $0.contains(where: isMeant) }
    }

    /// How often the line occurred before the last awaited one.
    func count(of line: String) -> Int { read.withLockedValue { $0.count { $0 == line } } }

    private func waitUntil(_ expected: String, _ isThere: ([String]) -> Bool) async {
        guard !isThere(read.withLockedValue { $0 }) else { return }
        for await line in lines {
            read.withLockedValue { $0.append(line) }
            if isThere(read.withLockedValue { $0 }) { return }
        }
        Issue.record("nobody said: \(expected); but: \(read.withLockedValue { $0 })")
    }
}
