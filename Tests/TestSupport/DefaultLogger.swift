import Logging

/// The logger of clients without a logger of their own, as in programs for PusherSwift.
package enum DefaultLogger {
    /// Keeps their warnings out of the test runner's output. Loggers that were made earlier still write.
    package static func silence() { isSilent }

    private static let isSilent: Void = LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
}
