import Logging

/// The default logger of clients. Programs for PusherSwift set no other logger.
package enum DefaultLogger {
    /// Keeps the warnings of default loggers out of the test runner's output. Loggers that were created before the call
    /// still write.
    package static func silence() { isSilent }

    private static let isSilent: Void = LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
}
