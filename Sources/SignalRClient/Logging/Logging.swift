public import Logging

/// The importance of a line of the log.
public enum LogLevel: Int, Sendable {
    /// Details for debugging.
    case debug
    /// Changes of the connection.
    case information
    /// Problems that a person should know about.
    case warning
    /// Failures of the connection or of the app's code.
    case error
}

/// A handler that writes the lines of the log. The client calls the handler on its own threads, so the handler must not
/// block.
public protocol LogHandler: Sendable {
    /// Writes a line.
    func log(logLevel: LogLevel, message: LogMessage, file: String, function: String, line: UInt)
}

/// The message of one line of the log.
public struct LogMessage: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
    private let text: String

    /// Creates a message.
    public init(stringLiteral value: String) { text = value }

    /// The text.
    public var description: String { text }
}

/// A handler that writes lines to the standard output, for command-line tools.
struct PrintingLogHandler: LogHandler {
    func log(logLevel: LogLevel, message: LogMessage, file: String, function: String, line: UInt) {
        print("\(Date().ISO8601Format()) \(logLevel) SignalR: \(message)")
    }
}

/// A handler that writes lines to a logger of swift-log.
public struct SwiftLogHandler: LogHandler {
    private let logger: Logger

    /// Creates a handler.
    public init(_ logger: Logger) { self.logger = logger }

    /// Writes a line. The levels `information` and `debug` become `debug` and `trace` of swift-log, because libraries
    /// should log nothing above `debug` in normal operation.
    public func log(logLevel: LogLevel, message: LogMessage, file: String, function: String, line: UInt) {
        let level: Logger.Level =
            switch logLevel {
            case .debug: .trace
            case .information: .debug
            case .warning: .warning
            case .error: .error
            }
        logger.log(level: level, "\(message)", file: file, function: function, line: line)
    }
}

/// The log of one connection.
struct HubLogger: Sendable {
    /// The lowest level that is logged; `nil` for the default: warnings.
    var level: LogLevel?
    /// The handler; `nil` for the default.
    var handler: (any LogHandler)?

    func log(
        _ level: LogLevel,
        _ message: @autoclosure () -> LogMessage,
        file: String = #fileID,
        function: String = #function,
        line: UInt = #line
    ) {
        guard level.rawValue >= (self.level ?? .warning).rawValue else { return }
        let handler =
            handler ?? (self.level == nil ? SwiftLogHandler(Logger(label: "SignalRClient")) : PrintingLogHandler())
        handler.log(logLevel: level, message: message(), file: file, function: function, line: line)
    }
}
