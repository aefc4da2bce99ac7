import Logging
import TestSupport

/// Keeps what is logged, for tests that look at it.
final class LogLines: Sendable {
    private let lines = Log<String>()

    var messages: [String] { lines.elements }

    func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "test") { _ in Handler(lines: lines, level: level) }
    }

    private struct Handler: LogHandler {
        let lines: Log<String>
        let level: Logger.Level
        /// All of it is searched, and what the test looks at is kept.
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = "\(event.message) \(event.metadata ?? [:])"
            SecretSearch.search(line)
            if event.level >= level { lines.append(line) }
        }
    }
}
