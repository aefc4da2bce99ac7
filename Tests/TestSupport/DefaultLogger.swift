import Logging

/// The logger of clients that are given none, as those of programs that were written for PusherSwift are.
package enum DefaultLogger {
    /// Keeps their warnings out of the test runner's output. Loggers that were made before go on writing.
    package static func silence() { isSilent }

    private static let isSilent: Void = LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
}
