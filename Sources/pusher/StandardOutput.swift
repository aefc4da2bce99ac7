import ArgumentParser
import Foundation

/// The output of the commands.
enum StandardOutput {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Writes the text at once, also into a pipe. A line goes out in one write, so that lines of several tasks do not mix.
    ///
    /// - Throws: If nobody reads the pipe any more, an error without a text, whose exit code is the one that shells show
    ///   for a program which ended because of that. If the system refuses the text for another reason, that reason.
    static func print(_ text: String) throws {
        do {
            try Descriptor.write(text, to: STDOUT_FILENO)
        } catch  where error.code == .EPIPE {
            throw ExitCode(128 + SIGPIPE)
        } catch {
            throw ExitMessage("The output cannot be written: \(String(cString: strerror(error.code.rawValue)))")
        }
    }
}

/// Files, pipes and terminals.
enum Descriptor {
    /// Writes all of the text, whether or not the descriptor blocks.
    static func write(_ text: String, to descriptor: Int32) throws(POSIXError) {
        _ = ignoresBrokenPipes
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN {
                // Programs that have the same pipe can keep it from blocking.
                var space = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&space, 1, -1)
            } else if errno != EINTR {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        }
    }

    /// The signal would end the process at once, and the server could not close its connections.
    private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()
}
