import Logging
import TestSupport

/// The logged lines, for tests that check them.
final class LogLines: Sendable {
    private let lines = Log<String>()

    var messages: [String] { lines.elements }

    func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "test") { _ in Handler(lines: lines, level: level) }
    }

    private struct Handler: LogHandler {
        let lines: Log<String>
        let level: Logger.Level
        /// The handler gets the lines of all levels, because it searches all of them for secrets.
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
