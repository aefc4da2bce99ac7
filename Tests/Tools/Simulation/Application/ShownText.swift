import Logging
import NIOConcurrencyHelpers
import TestSupport

/// Keeps the client's output: the log, and errors in every printed form.
final class ShownText: Sendable {
    private let state = NIOLockedValueBox<[String]>([])

    var lines: [String] { state.withLockedValue { $0 } }

    var logger: Logger { Logger(label: "simulation") { _ in Handler(text: self) } }

    func note(_ error: any Error) {
        let forms = PrintedForms.of(error)
        state.withLockedValue { $0 += forms }
    }

    private func note(_ line: String) { state.withLockedValue { $0.append(line) } }

    private struct Handler: LogHandler {
        let text: ShownText
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { text.note("\(event.message) \(event.metadata ?? [:])") }
    }
}
