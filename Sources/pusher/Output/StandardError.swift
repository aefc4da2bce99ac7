import ArgumentParser
import Foundation

/// The messages of the commands, separate from their output.
enum StandardError {
    static let isTerminal = isatty(STDERR_FILENO) == 1
    static let style = TextStyle(isTerminal: isTerminal)

    /// Writes one line. If writing fails, the line is lost, because there is no other place for a report.
    static func print(_ line: String) {
        try? Descriptor.write("\(line)\n", to: STDERR_FILENO)
    }

    /// Prints an error in one line.
    ///
    /// - Returns: The error for the command to throw.
    static func failure(_ message: String, _ code: ExitCode = .failure) -> ExitCode {
        print("\(style.paint("Error:", .failure)) \(message)")
        return code
    }
}
