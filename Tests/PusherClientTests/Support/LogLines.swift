import Logging

/// Keeps what is logged, for tests that look at it.
final class LogLines: Sendable {
    private let lines = Log<String>()

    var messages: [String] { lines.elements }

    func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "test") { _ in Handler(lines: lines, logLevel: level) }
    }

    private struct Handler: LogHandler {
        let lines: Log<String>
        var logLevel: Logger.Level
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.append("\(event.message) \(event.metadata ?? [:])")
        }
    }
}
