import ArgumentParser
import Foundation

/// The output of the commands.
enum StandardOutput {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Writes the text at once, even to a pipe. The method passes the whole text to the system, so that lines of
    /// several tasks do not mix.
    ///
    /// - Throws: An error without a message if the pipe no longer has a reader. The exit code is then 128 + `SIGPIPE`,
    ///   as for a program that ends by this signal. If writing fails for another reason, the method throws an
    ///   ``ExitMessage`` with the system's description.
    static func print(_ text: String) throws {
        do {
            try Descriptor.write(text, to: STDOUT_FILENO)
        } catch  where error.code == .EPIPE {
            throw ExitCode(128 + SIGPIPE)
        } catch {
            throw ExitMessage("Output not written: \(String(cString: strerror(error.code.rawValue))).")
        }
    }
}

/// Files, pipes and terminals.
enum Descriptor {
    /// Writes the whole text, even to a non-blocking descriptor.
    static func write(_ text: String, to descriptor: Int32) throws(POSIXError) {
        _ = ignoresBrokenPipes
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN {
                // Other programs with the same pipe can make the pipe non-blocking.
                var space = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&space, 1, -1)
            } else if errno != EINTR {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        }
    }

    /// Ignores `SIGPIPE`. The signal would end the process before the server has closed its connections.
    private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()
}
