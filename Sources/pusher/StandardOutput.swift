import ArgumentParser
import Foundation

/// What the commands print.
enum StandardOutput {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Writes the text at once, also into a pipe. A line goes out in one write, so that lines of several tasks do not mix.
    ///
    /// - Throws: If nobody reads the pipe any more, an error without a text, whose exit code is the one that shells show
    ///   for a program which ended because of that. If the system refuses the text for another reason, that reason.
    static func print(_ text: String) throws {
        _ = ignoresBrokenPipes
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EPIPE {
                throw ExitCode(128 + SIGPIPE)
            } else if errno != EINTR {
                throw ExitMessage("The output cannot be written: \(String(cString: strerror(errno)))")
            }
        }
    }

    /// The signal would end the process where it stands, and the server could not say goodbye to its clients.
    static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()
}
