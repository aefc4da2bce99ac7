import ArgumentParser
import Foundation

/// Messages of the commands, besides their output.
enum StandardError {
    static let isTerminal = isatty(STDERR_FILENO) == 1
    static let style = TextStyle(isTerminal: isTerminal)

    /// Writes one line. It is lost if it cannot be written: there is nowhere to say so.
    static func print(_ line: String) {
        try? Descriptor.write("\(line)\n", to: STDERR_FILENO)
    }

    /// Prints an error in one line.
    ///
    /// - Returns: What the command is to throw.
    static func failure(_ message: String, _ code: ExitCode = .failure) -> ExitCode {
        print("\(style.paint("Error:", .failure)) \(message)")
        return code
    }
}
