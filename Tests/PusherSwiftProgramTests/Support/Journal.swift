import NIOConcurrencyHelpers
import Testing

/// The output of a program. A test waits for its lines. In an example, the journal replaces `print`.
final class Journal: Sendable {
    private let lines: AsyncStream<String>
    private let writer: AsyncStream<String>.Continuation
    private let read = NIOLockedValueBox<[String]>([])

    init() { (lines, writer) = AsyncStream.makeStream() }

    /// Writes a line. Any thread can call this method.
    func say(_ line: String) { writer.yield(line) }

    /// Waits until the line has occurred this many times. Earlier lines count too.
    func waitFor(_ line: String, count: Int = 1) async {
        await waitUntil("\(line), \(count) times") { lines in lines.count { $0 == line } >= count }
    }

    /// Waits for a line that satisfies a condition.
    func waitFor(_ isMeant: @escaping (String) -> Bool) async {
        await waitUntil("a certain line") { $0.contains(where: isMeant) }
    }

    /// Returns how often the line occurs among the lines that the test has read so far.
    func count(of line: String) -> Int { read.withLockedValue { $0.count { $0 == line } } }

    private func waitUntil(_ expected: String, _ isThere: ([String]) -> Bool) async {
        guard !isThere(read.withLockedValue { $0 }) else { return }
        for await line in lines {
            read.withLockedValue { $0.append(line) }
            if isThere(read.withLockedValue { $0 }) { return }
        }
        Issue.record("missing line: \(expected), found: \(read.withLockedValue { $0 })")
    }
}
